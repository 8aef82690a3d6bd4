import { Bench } from 'tinybench'
import type { Contest, Contestant, Reading, Side } from './contest.ts'
import { turn } from './turn.ts'

const NS_PER_MS = 1e6
const NS_PER_US = 1e3
const TASK = 'pass'

/**
 * A contestant in this process, timed by tinybench. Garbage collection is not forced: a full collection before each
 * pass would discard the machine code for objects of which none is left, and triple the time of the following passes.
 */
export class BenchSide implements Side {
  readonly #contestant: Contestant
  readonly #count: number
  readonly #bench = new Bench({ iterations: 1, time: 0, warmup: false, throws: true })
  #cpuUs = 0
  #done: number

  /** Opens one side of a contest. */
  static async open({ name, sides }: Contest, sideName: string, count: number): Promise<BenchSide> {
    const open = sides[sideName]
    if (open === undefined)
      throw new Error(`Cannot open side "${sideName}" of contest "${name}": it does not exist`)
    return new BenchSide(await open(count), count)
  }

  private constructor(contestant: Contestant, count: number) {
    this.#contestant = contestant
    this.#count = count
    this.#done = count
    this.#bench.add(TASK, () => this.#watched(), {
      async: true,
      beforeEach: async () => {
        await contestant.before?.()
        // Ended work may be retained until the turn is over.
        await turn()
      },
      afterEach: async () => {
        await contestant.after?.()
      },
    })
  }

  async pass(): Promise<Reading> {
    this.#bench.reset()
    await this.#bench.run()
    const result = this.#bench.getTask(TASK)?.result
    if (result === undefined || !('latency' in result)) throw new Error('Cannot time a pass: it did not end')
    return {
      ns: (result.latency.mean * NS_PER_MS) / this.#done,
      cpuNs: (this.#cpuUs * NS_PER_US) / this.#done,
    }
  }

  async close(): Promise<void> {
    await this.#contestant.close?.()
  }

  async #watched(): Promise<unknown> {
    const start = process.cpuUsage()
    const answer = await this.#contestant.pass()
    const { user, system } = process.cpuUsage(start)
    this.#cpuUs = user + system
    this.#done = doneOf(answer) ?? this.#count
    return answer
  }
}

function doneOf(answer: unknown): number | undefined {
  const isCounted = typeof answer === 'object' && answer !== null && 'done' in answer
  return isCounted && typeof answer.done === 'number' ? answer.done : undefined
}
