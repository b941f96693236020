import opbench as ob


@ob.bench(n=[10, 100])
def summed(n):
    values = list(range(n))
    yield lambda: sum(values)
