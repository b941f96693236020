"""The same run over many machines: Ray starts processes, moves messages and notices the dead.

A driver (the command that was typed) cuts the plan into parcels, hands each to an agent on one
node, and is the only one that writes to the store. An agent is a process that Ray starts on a
node; it measures a parcel with the same runner as a run on one machine.

    options      what a person may ask of a fleet
    parcels      what is measured on one node at one moment
    schedule     who gets what next, how often, and after whose death: no Ray, no clock
    nodes        which nodes there are, and which of them will do
    shipment     parcels, environments and results as plain JSON types, both ways
    agent        what runs on a node
    cluster      everything that calls Ray
    driver       the loop
"""
