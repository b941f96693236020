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
INSERT INTO "cases" VALUES('38fc1e172d08114bc5cc','bench_sums/summed[n=10]/call','bench_sums','summed','call','python','python','eager','cpu','',1,'[["n",10]]','{"suite":"bench_sums","name":"summed","stage":"call","stmt":"call()","setup":"random.seed(seed)\n_gen = summed(n=10)\ncall = next(_gen)","globals":"import random\nfrom bench_sums import summed","before":"","prelude":"","way":"repeatable","minus":"","sync":"","labels":[["n",10]],"components":[],"language":"python","framework":"python","runtime":"eager","device":"cpu","dtype":"","threads":1,"seed":0,"preload":[],"module":{"module":"bench_sums","root":"/home/user/project","digest":"c52dfec292a4976f02991edb385e915e"},"unsupported":""}',1.79481622343619537352e+09);
INSERT INTO "cases" VALUES('935569f6fe0a0ea19976','bench_sums/summed[n=100]/call','bench_sums','summed','call','python','python','eager','cpu','',1,'[["n",100]]','{"suite":"bench_sums","name":"summed","stage":"call","stmt":"call()","setup":"random.seed(seed)\n_gen = summed(n=100)\ncall = next(_gen)","globals":"import random\nfrom bench_sums import summed","before":"","prelude":"","way":"repeatable","minus":"","sync":"","labels":[["n",100]],"components":[],"language":"python","framework":"python","runtime":"eager","device":"cpu","dtype":"","threads":1,"seed":0,"preload":[],"module":{"module":"bench_sums","root":"/home/user/project","digest":"c52dfec292a4976f02991edb385e915e"},"unsupported":""}',1.79481622382663178446e+09);
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
INSERT INTO "meta" VALUES('schema_version','2');
CREATE TABLE opbench_revision (
	version_num VARCHAR(32) NOT NULL, 
	PRIMARY KEY (version_num)
);
INSERT INTO "opbench_revision" VALUES('2');
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
INSERT INTO "results" VALUES(1,'20261116-080340-5ec7','38fc1e172d08114bc5cc','time','s','ok','',2.64731657177879398101e-07,1.56228147627788174949e-07,3.73235166727970621219e-07,10,'[["imprecise","\u00b141.0% where \u00b12.0% was asked: the time for this case was spent; raise --max-time-per-case, or quiet the machine (opbench doctor)"],["few-starts","rests on 2 worker starts, as one call takes long; the interval is widened for what address layout does between starts"]]','{"way":"repeatable","stopped":"time","starts":2,"sessions":2,"design":"","calls_per_block":[11511,5403],"first_call":[6.04e-06,6.109e-06],"layout":0.012,"settled":false,"seconds":0.506,"within":0.006440923266953813,"between":0.22548698042641402}','current','356c7425b71ea5b5','current:356c7425b71ea5b5','adaptive precision=0.02 max_time=0.3 max_starts=2','',1.79481622342803406712e+09,'');
INSERT INTO "results" VALUES(2,'20261116-080340-5ec7','935569f6fe0a0ea19976','time','s','ok','',8.18665842604037898196e-07,7.90612653098413845293e-07,8.46719032109662e-07,5,'[["contended","40% of the blocks were disturbed by other programs; close them, or measure at a quieter time"],["imprecise","\u00b13.4% where \u00b12.0% was asked: the time for this case was spent; raise --max-time-per-case, or quiet the machine (opbench doctor)"],["few-starts","rests on 1 worker start, as one call takes long; the interval is widened for what address layout does between starts"]]','{"way":"repeatable","stopped":"time","starts":1,"sessions":1,"design":"","calls_per_block":[2427],"first_call":[5.112e-06],"layout":0.012,"settled":true,"seconds":0.306,"within":0.002885415833609485,"between":0.012342026759525533}','current','356c7425b71ea5b5','current:356c7425b71ea5b5','adaptive precision=0.02 max_time=0.3 max_starts=2','',1.794816223826054573e+09,'');
INSERT INTO "results" VALUES(3,'20261116-080348-25d5','38fc1e172d08114bc5cc','time','s','ok','',1.67190845314394593732e-07,1.61036962644551371387e-07,1.73344727984237816078e-07,10,'[["unsettled","the time per call still fell by 16% while it was sampled; raise --max-time-per-case to give it a longer warm-up"],["imprecise","\u00b13.7% where \u00b12.0% was asked: the time for this case was spent; raise --max-time-per-case, or quiet the machine (opbench doctor)"],["few-starts","rests on 1 worker start, as one call takes long; the interval is widened for what address layout does between starts"]]','{"way":"repeatable","stopped":"time","starts":1,"sessions":1,"design":"","calls_per_block":[11546],"first_call":[3.738e-06],"layout":0.012,"settled":true,"seconds":0.309,"within":0.0056347109700377734,"between":0.013257072365943548}','current','356c7425b71ea5b5','current:356c7425b71ea5b5','adaptive precision=0.02 max_time=0.3 max_starts=2','',1.79481623069175267215e+09,'');
INSERT INTO "results" VALUES(4,'20261116-080348-25d5','935569f6fe0a0ea19976','time','s','ok','',1.63365980230642497011e-06,1.56941557794377515113e-06,1.69790402666907478909e-06,5,'[["imprecise","\u00b13.9% where \u00b12.0% was asked: the time for this case was spent; raise --max-time-per-case, or quiet the machine (opbench doctor)"],["few-starts","rests on 1 worker start, as one call takes long; the interval is widened for what address layout does between starts"]]','{"way":"repeatable","stopped":"time","starts":1,"sessions":1,"design":"","calls_per_block":[1214],"first_call":[8.154e-06],"layout":0.012,"settled":true,"seconds":0.332,"within":0.007524396813002676,"between":0.014163917092369782}','current','356c7425b71ea5b5','current:356c7425b71ea5b5','adaptive precision=0.02 max_time=0.3 max_starts=2','',1.79481623110472416878e+09,'');
INSERT INTO "results" VALUES(5,'20261116-080357-805f','38fc1e172d08114bc5cc','time','s','ok','',7.73999999999999916278e-07,7.57152041578801772263e-07,7.90847958421198060207e-07,2,'[["few-starts","rests on 2 worker starts, as asked; the interval is widened for what address layout does between starts"]]','{"way":"repeatable","stopped":"runs","starts":2,"sessions":2,"design":"","calls_per_block":[1,1],"first_call":[null,null],"layout":0.012,"settled":true,"seconds":0.581,"within":0.0,"between":0.01197539603672592}','current','356c7425b71ea5b5','current:356c7425b71ea5b5','fixed runs=2 repeats=2','',1.79481624086509013171e+09,'');
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
INSERT INTO "runs" VALUES('20261116-080340-5ec7','first',1.79481622050579428667e+09,1.79481622384868383414e+09,'finished','opbench run bench_sums.py --name first','0.1.0','','{"system":{"machine_id":"a1b2c3d4"},"cpu":{"model":"EPYC 9654","logical_cores":8},"git":{"dirty":false}}','{"max_time":0.3,"timeout":60.0,"block_seconds":0.002,"warmup_seconds":0.1,"precision":0.02,"min_rounds":5,"starts":3,"max_starts":2}','{"targets":["bench_sums.py"],"keep":[],"axes":{},"baseline":null,"metrics":["time"],"clock":"","stages":[],"device":null,"threads":null,"cpus":[],"precision":0.02,"budget":null,"max_time_per_case":0.3,"timeout":60.0,"max_starts":2,"num_runs":null,"num_repeats":null,"environments":[],"name":"first","seed":0,"jobs":0,"top":null,"on":"","slots":"","retries":null,"replicate_on":1,"require":[]}');
INSERT INTO "runs" VALUES('20261116-080348-25d5','second',1.7948162287733311653e+09,1.79481623112763309484e+09,'finished','opbench run bench_sums.py --name second','0.1.0','','{"system":{"machine_id":"a1b2c3d4"},"cpu":{"model":"EPYC 9654","logical_cores":8},"git":{"dirty":false}}','{"max_time":0.3,"timeout":60.0,"block_seconds":0.002,"warmup_seconds":0.1,"precision":0.02,"min_rounds":5,"starts":3,"max_starts":2}','{"targets":["bench_sums.py"],"keep":[],"axes":{},"baseline":null,"metrics":["time"],"clock":"","stages":[],"device":null,"threads":null,"cpus":[],"precision":0.02,"budget":null,"max_time_per_case":0.3,"timeout":60.0,"max_starts":2,"num_runs":null,"num_repeats":null,"environments":[],"name":"second","seed":0,"jobs":0,"top":null,"on":"","slots":"","retries":null,"replicate_on":1,"require":[]}');
INSERT INTO "runs" VALUES('20261116-080357-805f','half',1.79481623762365198136e+09,1.79481624098204588886e+09,'interrupted','opbench run bench_sums.py --name half','0.1.0','','{"system":{"machine_id":"a1b2c3d4"},"cpu":{"model":"EPYC 9654","logical_cores":8},"git":{"dirty":false}}','{"max_time":5.0,"timeout":60.0,"block_seconds":0.002,"warmup_seconds":0.1,"num_runs":2,"num_repeats":2,"starts":3}','{"targets":["bench_sums.py"],"keep":[],"axes":{},"baseline":null,"metrics":["time"],"clock":"","stages":[],"device":null,"threads":null,"cpus":[],"precision":0.02,"budget":null,"max_time_per_case":5.0,"timeout":60.0,"max_starts":null,"num_runs":2,"num_repeats":2,"environments":[],"name":"half","seed":0,"jobs":0,"top":null,"on":"","slots":"","retries":null,"replicate_on":1,"require":[]}');
CREATE TABLE samples (
	result_id INTEGER NOT NULL, 
	payload BLOB NOT NULL, 
	PRIMARY KEY (result_id), 
	FOREIGN KEY(result_id) REFERENCES results (id) ON DELETE CASCADE
);
INSERT INTO "samples" VALUES(1,X'789C7551D94A43410CFD973EC7927DF15744A4D82B0AA54A7BAB0FE2BF9BD15B14B10C2433E72427CBBCAF5E37BBD3B4BABEA1757065A0595A39B1D9748501B4F63077322512ED5B2E70A4A93B861587849E51D4B4C01226A3FCD128C42C8D724E4A5E50EB8299E16688DE64C30EB276E44426F532935A34646DE19A41E21196FE0B0DAD32E9EE154B17D885BAE7E8BA144C32D05B581DE7CD61EE5911CE87CEA7D9E7C3763A8C4D80804340018382410261D3FB41F5541D7CC19AA2FC673AF96DB3DBDDED8F2DC118CE2CC0C8D26B821E1405BB166A50E8C0AB4420A5D7C23CDE8E3AE209D97CF84EC411CFFD01AD7DFF723A4BA7B4E6574A550E69C36C8F46DCFD314AF3D6B860FFF477291A3C897DFBB01871EA823616F6F634DF3F4EC73F3B5B6EA3F6F37E9EF6DB69DB110F9BDD71824B763E9C2E92B71F9F12BD9874');
INSERT INTO "samples" VALUES(2,X'789C6D90DD6AC3300C85DF25D75ED09F656BAF324A098DC70A211971B25E8CBD7BE5B463374320A34F4747C2DFDDD730EDA57B7D933E4521608B310228E6F2021A72CF86C099311B1271A3C929AA289B248A66860F6A3DBA2431264D8AC2FC74C0AC1AB3908200276BDA53E86AA9F5BACCBE19C3339C2EEB58D68351E020213A6B1A124AE19FE4EDDB304DE7B9B6218C9A4525104453730F0056F29A50C4F80049C57CEAF2B93F86BC6528EE06CA848744FD1FFC35D2145B6DAAD02EBE5DB7CB47393605F0F0DC9C96792BF35846E7DBBA97F03E4CF537FF81D3CF1DBF915AD6');
INSERT INTO "samples" VALUES(3,X'789C9D91CB4E03310C45FFA56B53F911BFF81554A1AA1D04D2688AFAA00BC4BFE30CD32ED88122C5CAB573AEE37CAE3EB6E365583D3ED93AC2255DCC514559870774A075B23AA2B9AA86498B45B64051114B1226F3450D0CA7E6689214DC16D5398BA0C162466572436856C20A2AC295BBCB1AADEAB0A536CC1BBAD759593AA9FABDBB62A4B708412FCF5994B51855A34A91E6863E1336B03A1CF7C3B15E4AC020D040C1C0212081B0D2534F9136837FED45B86EC7F1793A152708339C8185AA97324426CD0026B7165E674F6101CA8CAECF31AA1E51AC629DCDD2A0FF87CCECDDFBE5075D23899A78A1B96E6247B7948A1465D611A1EED6514C247354CA1EB32D5629BD05AD5E5AA14FD7B7F3EE7538CDA3C15F8BBAF7613A0FD37ED857C5F97819E0653B9EFEB2F74B9BAF6F9C78926A');
INSERT INTO "samples" VALUES(4,X'789C6D8ECD6A03310C84DF65CF6E9135B224F7554228213534B02421CECF21F4DDAB75BAB72290D0A71934CFE9BE9B6F6DFAD8E477AD642ED9A5642102DA1B690A9CDDD5E0549432B2AF98DD5161A846105D6965E6624459C5446CC58096EAC420152E0BDDA6A9B7DE0FA7E3F23CFD55D0D3E5AB5D06E38424A9041B1ACE92FE69717EECE6F9F3D843C4646A1687EA1E89134712128D69AE64CB2E8087677FBEAD1688170F4B85320F89F32275E0B55B2E23EFE370DD7FB73EC2D1ABB63FBF2C934B71');
INSERT INTO "samples" VALUES(5,X'789C25894B0A80201040EFE27A0A3FE96857890829776261598BE8EE4DB67B9F9B9D3E96C0FA015B833A341C015BCB2B8DC0F6C3E7832E0741B6E625643201922C11C94A978F714AFB778C561A84E168A9CF5BF9B3EC8C76209575383E2F50151FB2');
CREATE INDEX ix_runs_name ON runs (name);
CREATE INDEX ix_runs_project_commit ON runs (project_commit);
CREATE INDEX ix_runs_created ON runs (created);
CREATE INDEX ix_cases_id ON cases (id);
CREATE INDEX ix_results_metric ON results (metric);
CREATE INDEX ix_results_case_metric ON results (case_hash, metric);
COMMIT;
PRAGMA application_id = 1869636206;
PRAGMA user_version = 2;
