"""One run over many machines: Ray starts processes, moves messages and reports what died.

The driver (the command that was typed) divides the plan into work units, sends each to an agent
on one node, and is the only process that writes to the store. An agent is a process that Ray
starts on a node; it measures a unit with the same runner as a run on one machine.

    options         what a user can ask of a fleet
    work_units      what is measured together on one node
    schedule        which node takes which unit next, retries, replicas: no Ray, no clock
    nodes           which nodes exist, and which meet the requirements
    device_slots    one device of one node, and its agent
    wire            units, environments and results as plain JSON types
    agent           what runs on a node
    cluster         every call of Ray
    driver          the loop
"""
