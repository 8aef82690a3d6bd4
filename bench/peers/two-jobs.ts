import type { DeferredPromise } from 'p-defer'
import pDefer from 'p-defer'
import type { Approvals, Review } from '../bare/approvals.ts'
import { Mailbox } from '../bare/mailbox.ts'
import { turn } from '../turn.ts'

/** The job of a run before its wait. */
export interface DraftJob {
  readonly run: string
  readonly doc: string
}

/** The job of a run after its wait. */
export interface VerdictJob extends DraftJob {
  readonly approved: boolean
}

interface Queue {
  sendDraft(job: DraftJob): Promise<unknown>
  sendVerdict(job: VerdictJob): Promise<unknown>
  close(): Promise<void>
}

/** Runs in a queue without waits: the work after the wait is a second job, which receives the state of the first. */
export class TwoJobs {
  readonly #waiting = new Map<string, string>()
  readonly #results = new Map<string, DeferredPromise<Review>>()
  readonly #mailbox = new Mailbox()
  /** Jobs of an earlier process have the same numbers. */
  readonly #mark = Date.now().toString(36)
  #runs = 0

  /** The work of the first job. */
  draft({ run, doc }: DraftJob): void {
    this.#waiting.set(run, doc)
    this.#mailbox.say(run)
  }

  /** The work of the second job. */
  decide({ run, doc, approved }: VerdictJob): void {
    this.#results.get(run)?.resolve({ doc, approved })
    this.#results.delete(run)
  }

  approvals(queue: Queue): Approvals {
    return {
      trigger: async ({ doc }) => {
        const run = `${this.#mark}-${(this.#runs += 1)}`
        const result = pDefer<Review>()
        this.#results.set(run, result)
        await queue.sendDraft({ run, doc })
        return { result: () => result.promise }
      },
      complete: (run, { approved }) => {
        const doc = this.#waiting.get(run) ?? ''
        this.#waiting.delete(run)
        return queue.sendVerdict({ run, doc, approved })
      },
      asked: () => this.#mailbox.next(),
      parked: turn,
      close: () => queue.close(),
    }
  }
}
