"""The process that runs cases in one environment and answers with samples.

Everything in this package runs in foreign interpreters (Python 3.9 or newer, opbench not
installed): it imports the standard library, its own siblings and the framework under test, and
knows nothing of suites, stores or reports. `protocol` is the one module both sides share.
"""
