# SPDX-License-Identifier: BSD-3-Clause
"""distributed - stands in for dask.distributed where it is not installed

It has the part that docs/recipes.md uses: processes that take turns, each with its own
directory.
"""
import multiprocessing
import tempfile

FORK = multiprocessing.get_context("fork")
worker = None


class WorkerPlugin:
    pass


class Worker:
    def __init__(self, directory):
        self.local_directory = directory


def get_worker():
    return worker


def serve(pipe):
    global worker
    plugin = None
    with tempfile.TemporaryDirectory() as directory:
        worker = Worker(directory)
        for verb, what in iter(pipe.recv, None):
            if verb == "plugin":
                plugin = what
                plugin.setup(worker)
                pipe.send(None)
            else:
                pipe.send(verb(what))
        if plugin:
            plugin.teardown(worker)


class Client:
    def __init__(self, n_workers, threads_per_worker):
        assert threads_per_worker == 1
        pipes = [FORK.Pipe() for _ in range(n_workers)]
        self.pipes = [ours for ours, _ in pipes]
        self.workers = [FORK.Process(target=serve, args=(theirs,))
                        for _, theirs in pipes]
        for process in self.workers:
            process.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pipe, process in zip(self.pipes, self.workers):
            pipe.send(None)
            process.join()
            assert process.exitcode == 0

    def register_plugin(self, plugin):
        for pipe in self.pipes:
            pipe.send(("plugin", plugin))
        for pipe in self.pipes:
            pipe.recv()

    def map(self, call, items):
        assert len(items) == len(self.pipes)
        for pipe, item in zip(self.pipes, items):
            pipe.send((call, item))
        return self.pipes

    def gather(self, pipes):
        return [pipe.recv() for pipe in pipes]
