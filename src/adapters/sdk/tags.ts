import { WaitpointError } from '../../api/errors.ts'
import { runs } from '../../core/ambient/ambient.ts'
import { currentRun } from './current-run.ts'
import { hasCode } from './error-code.ts'
import { hostedLogger } from './logger.ts'
import { type RequestOptions, requireRequest, takingRequests } from './request-options.ts'
import type { RunTags } from './trigger-options.ts'

/** Tags of the current run. */
export const tags: {
  /** Adds tags. If the run would have more than ten, it keeps those it has, and the logger gets an error. */
  add(tags: RunTags, requestOptions?: RequestOptions): Promise<void>
} = /* @__PURE__ */ takingRequests({ add: addToRun })

async function addToRun(added: RunTags, requestOptions?: RequestOptions): Promise<void> {
  requireRequest(requestOptions)
  const run = currentRun()?.ctx.run
  if (run === undefined)
    throw new WaitpointError(
      'ERR_NOT_IN_RUN',
      'Cannot call tags.add here: it can only be used from inside a task.run(); give trigger the tags',
    )
  const newTags = [added].flat().filter((tag) => tag !== '')
  if (newTags.length === 0) return
  try {
    await runs.addTags(run.id, newTags)
  } catch (error) {
    if (!hasCode(error, 'ERR_CANNOT_ADD_TAGS')) throw error
    hostedLogger.error(error.message, { existingTags: run.tags, newTags })
  }
}
