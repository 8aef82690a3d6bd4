import type { RunRecord } from '../../contract/records.ts'
import type { Inserted } from '../../contract/storage.ts'
import type { Kernel } from '../kernel.ts'
import type { RunHandle, RunOutcome } from '../../api/run.ts'
import { liveAttempt } from '../attempt/attempt.ts'
import { leftAtEnd } from '../../primitives/awaitable.ts'
import { finalRecord, lostOutcome, outcomeOf, outputOf } from '../reading/run-results.ts'

/** The handle that `trigger` answers. Hot, with a getter of its own as {@link CreatedTokenView} has. */
export class TriggeredRun<Output> implements RunHandle<Output> {
  readonly id: string
  readonly isCached: boolean
  declare readonly publicAccessToken: string
  /** Properties, not methods: they may be taken out of the handle. */
  declare readonly result: () => Promise<Output>
  declare readonly outcome: () => Promise<RunOutcome<Output>>
  declare readonly taskIdentifier?: string
  readonly #kernel: Kernel
  /** The instant from which its access token is good for a day. */
  readonly #accessFrom: number
  #accessToken: string | undefined

  /** @param named It tells the id of the task instead of the result. */
  constructor(kernel: Kernel, { record, isCached }: Inserted<RunRecord>, named?: boolean) {
    const { id, createdAt } = record
    this.id = id
    this.isCached = isCached
    this.#kernel = kernel
    // A run that was there before may be older than its access tokens last.
    this.#accessFrom = isCached ? kernel.host.now() : createdAt
    Object.defineProperty(this, 'publicAccessToken', new.target.#accessTokenProperty)
    if (named === true) this.taskIdentifier = record.taskId
    else {
      // Not written at the assignment: V8 puts such a function, with what it captures, among the long-lived objects.
      const result = (): Promise<Output> =>
        leftAtEnd(liveAttempt(), finalRecord(kernel, id, outputOf<Output>))
      const outcome = (): Promise<RunOutcome<Output>> =>
        finalRecord(kernel, id, outcomeOf<Output>).catch((error: unknown) => lostOutcome(record, error))
      this.result = result
      this.outcome = outcome
    }
  }

  static readonly #accessTokenProperty: PropertyDescriptor = {
    enumerable: true,
    get(this: TriggeredRun<unknown>) {
      const { credentials } = this.#kernel
      return (this.#accessToken ??= credentials.publicAccessToken(
        [`read:runs:${this.id}`, `write:inputStreams:${this.id}`],
        { from: this.#accessFrom },
      ))
    },
  }
}
