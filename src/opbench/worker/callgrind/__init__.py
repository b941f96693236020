"""What a worker needs under Callgrind: client requests, readable libraries, steady counts."""
