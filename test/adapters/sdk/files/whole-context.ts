import { task, type TaskRunContext } from '@trigger.dev/sdk/v3'

/** Everything that a task may want to know about where it runs. */
function labels({ run, environment, organization, project, machine, task: own, attempt }: TaskRunContext) {
  return {
    task: own.id,
    attempt: attempt.number,
    isTest: run.isTest,
    isTagged: run.tags.includes('labels'),
    dates: [run.createdAt instanceof Date, attempt.startedAt instanceof Date],
    texts: [environment.slug, organization.name, project.ref, run.id].map((text) => typeof text),
    cpu: machine?.cpu,
    memory: machine?.memory,
    batch: typeof run.parentTaskRunId,
  }
}

export const labeled = task({
  id: 'labeled',
  machine: 'small-2x',
  run: async (_: { tags?: string[] }, { ctx }) => labels(ctx),
})
