import type { RunChange, RunRecord } from '../../contract/records.ts'
import type { Awaitable, Page, RunUpdate } from '../../contract/storage.ts'
import { chain } from '../../primitives/awaitable.ts'
import { WaitpointError } from '../../api/errors.ts'
import { OTHER_VERSION } from '../attempt/recall.ts'
import { fits, type TaskRegistry } from '../../api/task-definition.ts'
import type { Host } from '../host/host.ts'
import { storedError } from '../../api/serialize.ts'

const PAGE = 100

/** A run began on code of another version, and the waits it has asked have no names. */
export class VersionMismatchError extends WaitpointError {
  override name: string = 'VersionMismatchError'

  constructor(runId: string, { begunOn, version }: { readonly begunOn: string; readonly version: string }) {
    super(
      'ERR_PENDING_VERSION',
      `Cannot go on with run "${runId}": it waits in version "${begunOn}" of its task, and this code is version "${version}"; keep the old version beside the new one, list it in \`accepts\`, name the waits, or decide with runs.continueWith("${runId}")`,
    )
    this.name = OTHER_VERSION
  }
}

/** The update that lets a run go on: it is executed again from the top, by the next engine that claims it. */
export function executable(
  { id, epoch }: RunRecord,
  { host, isDecided }: { readonly host: Host; readonly isDecided: boolean },
): RunUpdate {
  const change: RunChange = { status: 'EXECUTING', errorJson: undefined }
  return {
    id,
    expected: { status: ['PENDING_VERSION'], epoch },
    // Without a version any code fits.
    change: isDecided ? { ...change, version: undefined } : change,
    by: host.owner,
    now: host.now(),
  }
}

/** Takes up the runs that stand still and that the code of this engine fits. */
export function takeUpPending(host: Host, tasks: TaskRegistry): Awaitable<void> {
  if (tasks.ids.length === 0) return
  const filter = { status: ['PENDING_VERSION'], taskIds: tasks.ids } as const
  const takeUp = ({ records, next }: Page<RunRecord>): Awaitable<void> =>
    chain(
      eachInTurn(
        records.filter((record) => isFitting(record, tasks)),
        (record) =>
          chain(host.storage.runs.update(executable(record, { host, isDecided: false })), () => undefined),
      ),
      () =>
        next === undefined
          ? undefined
          : chain(host.storage.runs.list(filter, { limit: PAGE, after: next }), takeUp),
    )
  return chain(host.storage.runs.list(filter, { limit: PAGE }), takeUp)
}

/** A run whose own code met a wait it did not know is not taken up again by the same code. */
function isFitting(record: RunRecord, tasks: TaskRegistry): boolean {
  const definition = tasks.codeFor(record)
  if (!fits(definition, record.version)) return false
  const isOtherVersion = storedError(record.errorJson ?? '{}').name === OTHER_VERSION
  return isOtherVersion || definition.version !== record.version
}

function eachInTurn<T>(items: readonly T[], act: (item: T) => Awaitable<void>, at = 0): Awaitable<void> {
  const item = items[at]
  if (item === undefined) return undefined
  return chain(act(item), () => eachInTurn(items, act, at + 1))
}
