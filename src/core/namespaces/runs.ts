import type { RunRecord } from '../../contract/records.ts'
import type { CursorPagePromise } from '../../api/cursor-page.ts'
import type { Kernel } from '../kernel.ts'
import {
  runId,
  type ListRunsParams,
  type RescheduleOptions,
  type RetrievedRun,
  type Run,
  type RunHandle,
  type RunReference,
  type EngineRunsNamespace,
  type RunSubscription,
} from '../../api/run.ts'
import type { CountRunsParams, RunCounts } from '../../api/counts.ts'
import type { PollsAs } from '../../api/shown-run.ts'
import type { RunExplanation } from '../../api/explanation.ts'
import { readRun } from '../reading/run-changes.ts'
import { retrievedRun } from '../reading/retrieved-run.ts'
import { finalRecord } from '../reading/run-results.ts'
import { liveAttempt } from '../attempt/attempt.ts'
import { leftAtEnd } from '../../primitives/awaitable.ts'
import { readableValues, type Values } from '../../api/values.ts'
import { viewRetrievedRun } from '../views/run.ts'
import { subscribeToRun } from '../reading/subscription.ts'
import { COUNTS, EXPLANATION, KEY_RESET, RELEASE, REPLAY, RESCHEDULE, TAGS } from './late-calls.ts'
import { listOfRuns } from './run-list.ts'
import { TriggeredRun } from './triggered-run.ts'

/** Runs of one engine. Payloads and outputs are typed where the task is known; here they are unknown. */
export class EngineRuns implements EngineRunsNamespace, PollsAs {
  readonly #kernel: Kernel
  readonly #values: Values

  constructor(kernel: Kernel, values: Values) {
    this.#kernel = kernel
    this.#values = values
  }

  retrieve(run: RunReference): Promise<RetrievedRun<never, never>> {
    return this.#about(run, async (id) => this.#view(await readRun(this.#kernel, id)))
  }

  list(params: ListRunsParams = {}): CursorPagePromise<Run> {
    return listOfRuns(this.#kernel, { params, values: readableValues(this.#values) })
  }

  poll(run: RunReference): Promise<RetrievedRun<never, never>> {
    return this.pollAs(run, (view) => view)
  }

  /** Hot: a run that has ended has nothing around it. */
  pollAs<Shown>(
    run: RunReference,
    show: (view: RetrievedRun<never, never>) => Shown | Promise<Shown>,
  ): Promise<Shown> {
    const shown = this.#about(run, (id) =>
      finalRecord(this.#kernel, id, (record) =>
        show(viewRetrievedRun(record, undefined, this.#values) as RetrievedRun<never, never>),
      ),
    )
    // It resolves with what a promise of `show` resolves with.
    return shown as Promise<Shown>
  }

  cancel(run: RunReference): Promise<{ readonly id: string }> {
    return this.#about(run, async (id) => {
      await this.#kernel.cancellation.cancel(id)
      return { id }
    })
  }

  replay(run: RunReference): Promise<RunHandle<unknown>> {
    return this.#about(run, async (id) => {
      const original = await readRun(this.#kernel, id)
      this.#kernel.tasks.require(original.taskId)
      const { record } = await REPLAY.use(({ storeReplay }) => storeReplay(this.#kernel, original))
      return new TriggeredRun(this.#kernel, { record, isCached: false })
    })
  }

  continueWith(run: RunReference): Promise<RetrievedRun<never, never>> {
    return this.#about(run, async (id) =>
      this.#view(await RELEASE.use(({ continueRun }) => continueRun(this.#kernel, id))),
    )
  }

  explain(run: RunReference): Promise<RunExplanation> {
    return this.#about(run, async (id) => {
      const record = await readRun(this.#kernel, id)
      return this.#kernel.read(() => EXPLANATION.use(({ explainRun }) => explainRun(this.#kernel, record)))
    })
  }

  counts(params: CountRunsParams = {}): Promise<RunCounts> {
    return this.#kernel.read(() => COUNTS.use(({ countRuns }) => countRuns(this.#kernel, params)))
  }

  reschedule(run: RunReference, options: RescheduleOptions): Promise<RetrievedRun<never, never>> {
    return this.#about(run, async (id) =>
      this.#view(await RESCHEDULE.use(({ rescheduleRun }) => rescheduleRun(this.#kernel, id, options))),
    )
  }

  resetIdempotencyKey(taskId: string, key: string): Promise<string | undefined> {
    return this.#kernel.call(() => KEY_RESET.use(({ resetKey }) => resetKey(this.#kernel, taskId, key)))
  }

  addTags(run: RunReference, tags: string | readonly string[]): Promise<readonly string[]> {
    return this.#about(
      run,
      async (id) => (await TAGS.use(({ tagRun }) => tagRun(this.#kernel, id, { added: tags }))).tags,
    )
  }

  subscribeToRun(run: RunReference): RunSubscription<never> {
    return subscribeToRun(this.#kernel, runId(run), this.#values)
  }

  /** Makes a call about a run. A reference to none is refused. */
  #about<T>(run: RunReference, call: (id: string) => Promise<T>): Promise<T> {
    let id: string
    try {
      id = runId(run)
    } catch (error) {
      return this.#kernel.refused(error)
    }
    // Asked and made into what is shown in several steps: it may be left behind in any of them.
    return leftAtEnd(liveAttempt(), call(id))
  }

  async #view(record: RunRecord): Promise<RetrievedRun<never, never>> {
    // Payload and output are of the types of the task, which the caller names.
    return (await retrievedRun(this.#kernel, record, this.#values)) as RetrievedRun<never, never>
  }
}
