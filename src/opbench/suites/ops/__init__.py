"""The suite `ops`: the operator catalogue in every framework that has the operator."""
