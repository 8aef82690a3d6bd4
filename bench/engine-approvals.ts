import type { Clock, Engine, QuestionOptions, RunHandle, Storage, Task } from 'waitpoint'
import { createEngine, task, wait } from 'waitpoint'
import type { Approvals, Draft, Review, Verdict } from './bare/approvals.ts'
import { Mailbox } from './bare/mailbox.ts'
import { parked } from './turn.ts'

/** An engine on memory storage, or another one, and the system clock, with every option at its default. */
export class EngineApprovals implements Approvals {
  readonly #mailbox = new Mailbox()
  readonly #review: Task<Draft, Review>
  readonly #engine: Engine

  /** Each run's wait has its own deadline: `timeoutMs`, and one millisecond more for each run. */
  constructor(timeoutMs = 600_000, storage?: Storage, clock?: Clock, question: QuestionOptions = {}) {
    let created = 0
    this.#review = task({
      id: 'review',
      run: async ({ doc }: Draft): Promise<Review> => {
        const token = await wait.createToken({ timeout: timeoutMs + (created += 1), ...question })
        this.#mailbox.say(token.id)
        const { approved } = await wait.forToken<Verdict>(token).unwrap()
        return { doc, approved }
      },
    })
    this.#engine = createEngine({
      tasks: [this.#review],
      ...(storage && { storage }),
      ...(clock && { clock }),
    })
  }

  ready(): Promise<void> {
    return this.#engine.ready()
  }

  trigger(draft: Draft): Promise<RunHandle<Review>> {
    return this.#engine.trigger(this.#review, draft)
  }

  complete(tokenId: string, verdict: Verdict): Promise<unknown> {
    return this.#engine.wait.completeToken(tokenId, verdict)
  }

  asked(): Promise<string> {
    return this.#mailbox.next()
  }

  /** Follows a run to its last update. Returns the number of updates. */
  async follow({ id }: RunHandle<Review>): Promise<number> {
    let updates = 0
    for await (const _ of this.#engine.runs.subscribeToRun(id)) updates += 1
    return updates
  }

  parked(): Promise<void> {
    return parked(this.#engine)
  }

  close(): Promise<void> {
    return this.#engine.close()
  }
}
