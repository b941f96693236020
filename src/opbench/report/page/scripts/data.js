// What the page carries: zlib-compressed JSON in base64, unpacked with what the browser has.

const page = { table: null };

async function unpack(id) {
  const element = document.getElementById(id);
  if (!element) return null;
  const letters = atob(element.textContent);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

const unpacked = new Map();

// Pieces are unpacked once, when something in them is first looked at.
function piece(kind, index) {
  const id = `data-${kind}-${index}`;
  if (!unpacked.has(id)) unpacked.set(id, unpack(id));
  return unpacked.get(id);
}

async function detailsOf(row) {
  const found = await piece("details", Math.floor(row / page.table.piece));
  if (!found) return null;
  const own = found.rows[row % page.table.piece];
  return { ...own, script: own.script.map((part) => found.lines[part]).join("") };
}

async function trackPoints(track) {
  const size = page.table.history.piece;
  const found = await piece("tracks", Math.floor(track / size));
  return found ? found.tracks[track % size] : null;
}
