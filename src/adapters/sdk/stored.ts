import { asStored } from '../../api/noted-value.ts'
import type { TaskRunsNamespace, TasksNamespace } from '../../api/run.ts'
import type { PollsAs } from '../../api/shown-run.ts'
import type { WaitNamespace } from '../../api/token.ts'
import { runs, tasks, wait } from '../../core/ambient/ambient.ts'

// Tasks of this module note their values themselves: a codec of the engine has no part in it.

// Adapters poll this one, too.
export const storedRuns: TaskRunsNamespace & PollsAs = /* @__PURE__ */ asStored(
  runs as TaskRunsNamespace & PollsAs,
)
export const storedTasks: TasksNamespace = /* @__PURE__ */ asStored(tasks)
export const storedWait: WaitNamespace = /* @__PURE__ */ asStored(wait)
