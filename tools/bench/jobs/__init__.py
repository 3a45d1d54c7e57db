"""The jobs: each module has JOBS, {name on the command line: Job}.

training, chunked and interior train cases by several ways and share trainings; seeding (with loo) and grid share
validators; updating has ways_to_update and streams. What a child process does stands in ``trainings.train``, in
validators, ways_to_update and streams, and in functions of a job's own; measure.py calls it by its name.
"""
