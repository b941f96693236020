BEGIN TRANSACTION;
CREATE TABLE cases (
	hash TEXT NOT NULL, 
	id TEXT NOT NULL, 
	suite TEXT NOT NULL, 
	name TEXT NOT NULL, 
	stage TEXT NOT NULL, 
	language TEXT NOT NULL, 
	framework TEXT NOT NULL, 
	runtime TEXT NOT NULL, 
	device TEXT NOT NULL, 
	dtype TEXT NOT NULL, 
	threads INTEGER NOT NULL, 
	labels TEXT NOT NULL, 
	source TEXT NOT NULL, 
	first_seen DOUBLE NOT NULL, 
	PRIMARY KEY (hash)
);
INSERT INTO "cases" VALUES('38fc1e172d08114bc5cc','bench_sums/summed[n=10]/call','bench_sums','summed','call','python','python','eager','cpu','',1,'[["n",10]]','{"suite":"bench_sums","name":"summed","stage":"call","stmt":"call()","setup":"random.seed(seed)\n_gen = summed(n=10)\ncall = next(_gen)","globals":"import random\nfrom bench_sums import summed","before":"","prelude":"","minus":"","sync":"","labels":[["n",10]],"components":[],"language":"python","framework":"python","runtime":"eager","device":"cpu","dtype":"","threads":1,"seed":0,"preload":[],"module":{"module":"bench_sums","root":"/home/user/project","digest":"c52dfec292a4976f02991edb385e915e"},"unsupported":"","way":"repeatable"}',1.79482850333892273906e+09);
INSERT INTO "cases" VALUES('935569f6fe0a0ea19976','bench_sums/summed[n=100]/call','bench_sums','summed','call','python','python','eager','cpu','',1,'[["n",100]]','{"suite":"bench_sums","name":"summed","stage":"call","stmt":"call()","setup":"random.seed(seed)\n_gen = summed(n=100)\ncall = next(_gen)","globals":"import random\nfrom bench_sums import summed","before":"","prelude":"","minus":"","sync":"","labels":[["n",100]],"components":[],"language":"python","framework":"python","runtime":"eager","device":"cpu","dtype":"","threads":1,"seed":0,"preload":[],"module":{"module":"bench_sums","root":"/home/user/project","digest":"c52dfec292a4976f02991edb385e915e"},"unsupported":"","way":"repeatable"}',1.79482850371392583851e+09);
CREATE TABLE environments (
	fingerprint TEXT NOT NULL, 
	facts TEXT NOT NULL, 
	PRIMARY KEY (fingerprint)
);
INSERT INTO "environments" VALUES('356c7425b71ea5b5','{"interpreter":{"version":"3.11.7","packages":{"numpy":"2.3.5"},"threads":{}}}');
CREATE TABLE meta (
	"key" TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY ("key")
);
INSERT INTO "meta" VALUES('application','opbench');
INSERT INTO "meta" VALUES('schema_version','3');
CREATE TABLE opbench_revision (
	version_num VARCHAR(32) NOT NULL, 
	PRIMARY KEY (version_num)
);
INSERT INTO "opbench_revision" VALUES('3');
CREATE TABLE results (
	id INTEGER NOT NULL, 
	run_id TEXT NOT NULL, 
	case_hash TEXT NOT NULL, 
	metric TEXT NOT NULL, 
	unit TEXT NOT NULL, 
	outcome TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	estimate DOUBLE, 
	low DOUBLE, 
	high DOUBLE, 
	n_samples INTEGER NOT NULL, 
	warnings TEXT NOT NULL, 
	detail TEXT NOT NULL, 
	environment TEXT NOT NULL, 
	fingerprint TEXT NOT NULL, 
	place TEXT NOT NULL, 
	policy TEXT NOT NULL, 
	group_name TEXT NOT NULL, 
	created DOUBLE NOT NULL, 
	node TEXT DEFAULT '' NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT uq_results_key UNIQUE (run_id, case_hash, metric, place, policy), 
	FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE, 
	FOREIGN KEY(case_hash) REFERENCES cases (hash)
);
INSERT INTO "results" VALUES(1,'20261116-112820-b66d','38fc1e172d08114bc5cc','time','s','ok','',4.19141082519964502765e-07,3.28970156377231e-07,5.09312008662698e-07,5,'[["contended","40% of the blocks were disturbed by other programs; close them, or measure at a quieter time"],["imprecise","its interval is wider than the asked \u00b12%, because the time for this case was spent; raise --max-time-per-case, or quiet the machine (opbench doctor)"],["few-starts","it rests on a single worker start, so its interval is widened for what address layout does between starts; raise --max-starts"]]','{"way":"repeatable","stopped":"time","starts":1,"sessions":1,"design":"","calls_per_block":[4508],"first_call":[6.053e-06],"settled":false,"seconds":0.287,"within":0.01140314069265829,"between":0.05}','current','356c7425b71ea5b5','current:356c7425b71ea5b5','adaptive precision=0.02 max_time=0.3 max_starts=2','',1.79482850333562517167e+09,'');
INSERT INTO "results" VALUES(2,'20261116-112820-b66d','935569f6fe0a0ea19976','time','s','ok','',1.49434598603839450289e-06,1.17286339423748200375e-06,1.81582857783930700203e-06,5,'[["imprecise","its interval is wider than the asked \u00b12%, because the time for this case was spent; raise --max-time-per-case, or quiet the machine (opbench doctor)"],["few-starts","it rests on a single worker start, so its interval is widened for what address layout does between starts; raise --max-starts"]]','{"way":"repeatable","stopped":"time","starts":1,"sessions":1,"design":"","calls_per_block":[1146],"first_call":[7.908e-06],"settled":true,"seconds":0.298,"within":0.008286674185275435,"between":0.05}','current','356c7425b71ea5b5','current:356c7425b71ea5b5','adaptive precision=0.02 max_time=0.3 max_starts=2','',1.7948285037064538002e+09,'');
INSERT INTO "results" VALUES(3,'20261116-112830-673c','38fc1e172d08114bc5cc','time','s','ok','',3.08207857254656472081e-07,2.41902288337307475583e-07,3.74513426172005468558e-07,5,'[["contended","40% of the blocks were disturbed by other programs; close them, or measure at a quieter time"],["imprecise","its interval is wider than the asked \u00b12%, because the time for this case was spent; raise --max-time-per-case, or quiet the machine (opbench doctor)"],["few-starts","it rests on a single worker start, so its interval is widened for what address layout does between starts; raise --max-starts"]]','{"way":"repeatable","stopped":"time","starts":1,"sessions":1,"design":"","calls_per_block":[6389],"first_call":[6.353e-06],"settled":true,"seconds":0.241,"within":0.012678723245519767,"between":0.05}','current','356c7425b71ea5b5','current:356c7425b71ea5b5','adaptive precision=0.02 max_time=0.3 max_starts=2','',1.79482851268442416192e+09,'');
INSERT INTO "results" VALUES(4,'20261116-112830-673c','935569f6fe0a0ea19976','time','s','ok','',1.52942977099236634801e-06,1.20039951203634629513e-06,1.85846002994838640099e-06,5,'[["imprecise","its interval is wider than the asked \u00b12%, because the time for this case was spent; raise --max-time-per-case, or quiet the machine (opbench doctor)"],["few-starts","it rests on a single worker start, so its interval is widened for what address layout does between starts; raise --max-starts"]]','{"way":"repeatable","stopped":"time","starts":1,"sessions":1,"design":"","calls_per_block":[1310],"first_call":[7.057e-06],"settled":true,"seconds":0.305,"within":0.03648693591734535,"between":0.05}','current','356c7425b71ea5b5','current:356c7425b71ea5b5','adaptive precision=0.02 max_time=0.3 max_starts=2','',1.79482851305889606471e+09,'');
INSERT INTO "results" VALUES(5,'20261116-112838-8954','38fc1e172d08114bc5cc','time','s','ok','',7.8325e-07,2.27353542792357041744e-07,1.33914645720764280422e-06,2,'[["few-starts","it rests on 2 worker starts, so its interval is widened for what address layout does between starts; raise --num-runs"]]','{"way":"repeatable","stopped":"runs","starts":2,"sessions":2,"design":"","calls_per_block":[1,1],"first_call":[null,null],"settled":true,"seconds":0.371,"within":0.0,"between":0.0789937355299367}','current','356c7425b71ea5b5','current:356c7425b71ea5b5','fixed runs=2 repeats=2','',1.79482852070433783527e+09,'');
CREATE TABLE runs (
	id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	created DOUBLE NOT NULL, 
	finished DOUBLE, 
	status TEXT NOT NULL, 
	command TEXT NOT NULL, 
	version TEXT NOT NULL, 
	project_commit TEXT NOT NULL, 
	machine TEXT NOT NULL, 
	policy TEXT NOT NULL, 
	request TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "runs" VALUES('20261116-112820-b66d','first',1.79482850093575501447e+09,1.79482850374583792693e+09,'finished','opbench run bench_sums.py --name first','0.1.0','','{"system":{"machine_id":"a1b2c3d4"},"cpu":{"model":"EPYC 9654","logical_cores":8},"git":{"dirty":false}}','{"max_time":0.3,"timeout":60.0,"block_seconds":0.002,"warmup_seconds":0.1,"precision":0.02,"min_rounds":5,"starts":3,"max_starts":2,"pair_starts":2}','{"targets":["bench_sums.py"],"axes":{},"keep":[],"stages":[],"metrics":["time"],"clock":"","baseline":null,"device":null,"environments":[],"top":null,"seed":0,"precision":0.02,"budget":null,"max_time_per_case":0.3,"timeout":60.0,"max_starts":2,"num_runs":null,"num_repeats":null,"threads":null,"cpus":[],"jobs":0,"on":"","slots":"","replicate_on":1,"require":[],"retries":null,"name":"first"}');
INSERT INTO "runs" VALUES('20261116-112830-673c','second',1.79482851039571547503e+09,1.79482851309053945544e+09,'finished','opbench run bench_sums.py --name second','0.1.0','','{"system":{"machine_id":"a1b2c3d4"},"cpu":{"model":"EPYC 9654","logical_cores":8},"git":{"dirty":false}}','{"max_time":0.3,"timeout":60.0,"block_seconds":0.002,"warmup_seconds":0.1,"precision":0.02,"min_rounds":5,"starts":3,"max_starts":2,"pair_starts":2}','{"targets":["bench_sums.py"],"axes":{},"keep":[],"stages":[],"metrics":["time"],"clock":"","baseline":null,"device":null,"environments":[],"top":null,"seed":0,"precision":0.02,"budget":null,"max_time_per_case":0.3,"timeout":60.0,"max_starts":2,"num_runs":null,"num_repeats":null,"threads":null,"cpus":[],"jobs":0,"on":"","slots":"","replicate_on":1,"require":[],"retries":null,"name":"second"}');
INSERT INTO "runs" VALUES('20261116-112838-8954','half',1.79482851871905159952e+09,1.79482852117008900641e+09,'interrupted','opbench run bench_sums.py --name half','0.1.0','','{"system":{"machine_id":"a1b2c3d4"},"cpu":{"model":"EPYC 9654","logical_cores":8},"git":{"dirty":false}}','{"max_time":5.0,"timeout":60.0,"block_seconds":0.002,"warmup_seconds":0.1,"num_runs":2,"num_repeats":2,"starts":3}','{"targets":["bench_sums.py"],"axes":{},"keep":[],"stages":[],"metrics":["time"],"clock":"","baseline":null,"device":null,"environments":[],"top":null,"seed":0,"precision":0.02,"budget":null,"max_time_per_case":5.0,"timeout":60.0,"max_starts":null,"num_runs":2,"num_repeats":2,"threads":null,"cpus":[],"jobs":0,"on":"","slots":"","replicate_on":1,"require":[],"retries":null,"name":"half"}');
CREATE TABLE samples (
	result_id INTEGER NOT NULL, 
	payload BLOB NOT NULL, 
	PRIMARY KEY (result_id), 
	FOREIGN KEY(result_id) REFERENCES results (id) ON DELETE CASCADE
);
INSERT INTO "samples" VALUES(1,X'789C6D4F414EC4300CFC4BCFA6B21DDBB1F9CA6A85AA6D10485517B55BF680F83B6ED903070E7132E39978FCD57D0ED3D6BAE713F58558432AA3847988B42734909E8284D05929C24493AD9062AC89D08ABB090B3FC45C348C6BE1A0607DA8A5C752096B31315744B19D3E43775DC6B6ECB381A180802637271645877F4AB6EFC334BDCC6B8A0CA90616A0B08CA2A0E15559136760E3BC8924223D978FEDD792AB91B967AB1A1DD67097004662F7DDC255D5D2B2DEDF6F97B7B61EE110F683FB4FD7F9D6E6B18DC9DF96ADC1EB30AD0DFE3C8F7AFEFE0192DF558C');
INSERT INTO "samples" VALUES(2,X'789C6D8FDB6AC3300C86DF25D75E91651DF72AA58CD078AC10925127EBC5D8BB4F49BBDD6C0864F4F9FF75F8EC3EFA71ADDDF3D10E02426844A29A8B5A7D0249F940E6501C4521B382FC6277615460900C86F8C02C1E06465367CB997FD48AEE2C45DC0D79A7A7D4B5DADA659E62784E8F083A5F877ADD19A6922871B05D93295AFD4DF17DEBC7F1656A21F26D5981943576268C9705281A5B294C256A14500FCFF97DBD5BB2C569A89B94B36C92F090850525EE8E9A8AF2B659BB5D96F35BDD4D09EEB1759AA7A54E431D822FD7B5A6D77E6CFFE4D3D73788AB5B9D');
INSERT INTO "samples" VALUES(3,X'789C6D4EDB4AC4500CFC973E1F4BEE39F1576491B23DA250BAD26EDD07F1DF4DBBEC83208109996426F3DD7D0DD3D6BAE797E81521148DD5889D6A7B022FD1B33B83B8909211FAC1720F95C0AB3AA9989A3C6896A81E52214DAAF1E358D494C5AC86D1DDF854BACB32B6251F63A1C2458A2637E76C5CA3FC03B9BE0DD3F43AAFFB1166C2CAC5A00222140245C6B4A2CC15D98121CC5273FEDCEE920C0FA69E2B8950DA25E1989D84386CE7C10D52B2DE3EAEE7F7B61EE1B0C05EBBD365BEB6796C63F2D7656BE580B7615AFFE0E9E717D4B054E3');
INSERT INTO "samples" VALUES(4,X'789C6D8FDD6AC3300C85DF25D75E9165FD79AF324A098DC70A211971B25E8CBD7BE534BB2B02193E9D231DFF763FFDB895EEFD834E822C2214116352022E6F20219E88292736557341E6746041304B0812414C01FFD5963493B090991BF5C0AC0C0792E8B686CFA1ABA5D6DB3CF9F9188E723A2F4359768621050AEC6CD7A408E145F3F1BD1FC7CB545DD4F264F241A69638601454F60CD9C8D05742CEA8EA9EEBF7F6B42068D2985D22AA604D82C9D45FF48FB1AF889E1B5BDEFB6DBD7E95BA878367B54DF3B496692883F375D94AF8ECC7FAA29FFF1EF2975BCE');
INSERT INTO "samples" VALUES(5,X'789C258A410E40301045EFD2F510332A335C45441ABA6B905216E2EEA6ECDEFBEFDFE6742179D3F55CD66DE38B8A414AE20C0398FD70F1D05801AAAD71F6510D81D41625FAE872218CCB9E8BD48280AD95FC9FB6F4CFC49619488470785E373D1F79');
CREATE TABLE start_variances (
	run_id TEXT NOT NULL, 
	machine TEXT NOT NULL, 
	metric TEXT NOT NULL, 
	design TEXT NOT NULL, 
	cases INTEGER NOT NULL, 
	freedom DOUBLE NOT NULL, 
	logs DOUBLE NOT NULL, 
	squares DOUBLE NOT NULL, 
	expected DOUBLE NOT NULL, 
	PRIMARY KEY (run_id, machine, metric, design), 
	FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE
);
INSERT INTO "start_variances" VALUES('20261116-112838-8954','a1b2c3d4 EPYC 9654 × 8','time','',1,1.0,-3.74678957863256423266e+00,1.40419868136967060934e+01,4.93480220054468);
CREATE INDEX ix_runs_project_commit ON runs (project_commit);
CREATE INDEX ix_runs_name ON runs (name);
CREATE INDEX ix_runs_created ON runs (created);
CREATE INDEX ix_cases_id ON cases (id);
CREATE INDEX ix_results_case_metric ON results (case_hash, metric);
CREATE INDEX ix_results_metric ON results (metric);
CREATE INDEX ix_start_variances_machine ON start_variances (machine);
COMMIT;
PRAGMA application_id = 1869636206;
PRAGMA user_version = 3;
