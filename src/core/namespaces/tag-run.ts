import type { RunRecord } from '../../contract/records.ts'
import { isFinal } from '../../contract/run-states.ts'
import { WaitpointError } from '../../api/errors.ts'
import { UPDATE_RUN } from '../host/storage-calls.ts'
import type { Kernel } from '../kernel.ts'
import { readRun } from '../reading/run-changes.ts'
import { MOST_TAGS, readTags } from './new-run.ts'

/** The tags of a run, and how many of them are new. */
export interface AddedTags {
  readonly tags: readonly string[]
  readonly count: number
}

/**
 * Adds tags to a run that is not over. Those it has already are passed over. Additions of this engine to one run follow
 * each other, so that none takes back another.
 */
export function tagRun(
  kernel: Kernel,
  id: string,
  { added, most = MOST_TAGS }: { readonly added: string | readonly string[]; readonly most?: number },
): Promise<AddedTags> {
  return kernel.runTurns.take(id, async () => {
    for (;;) {
      const before = await readRun(kernel, id)
      const tags = [...new Set([...before.tags, ...readTags(added)])]
      requireTaggable(before, { count: tags.length, most })
      if (await isStored(kernel, before, tags)) return { tags, count: tags.length - before.tags.length }
    }
  })
}

/** @throws WaitpointError `ERR_CANNOT_ADD_TAGS` */
function requireTaggable(
  { id, status }: RunRecord,
  { count, most }: { readonly count: number; readonly most: number },
): void {
  const why = isFinal(status)
    ? `it is already ${status}`
    : count > most
      ? `it would have ${count}, and at most ${most} are allowed`
      : undefined
  if (why === undefined) return
  throw new WaitpointError('ERR_CANNOT_ADD_TAGS', `Cannot add tags to run "${id}": ${why}`)
}

/** Answers false if the run has changed since it was read. */
async function isStored(kernel: Kernel, before: RunRecord, tags: readonly string[]): Promise<boolean> {
  const { id, status, epoch } = before
  if (tags.length === before.tags.length) return true
  const updated = await kernel.call(() => {
    const { host } = kernel
    const expected = { status: [status], epoch }
    return kernel.asked(UPDATE_RUN, { id, expected, change: { tags }, by: host.owner, now: host.now() })
  })
  if (updated !== undefined) kernel.publisher.wake(id)
  return updated !== undefined
}
