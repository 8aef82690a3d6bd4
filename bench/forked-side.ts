import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import pDefer from 'p-defer'
import { BenchSide } from './bench-side.ts'
import type { Contest, Reading, Side } from './contest.ts'

/** A longer pass counts as hanging. */
const MOST_MS = 120_000

/** The argument that makes `main` serve one side of a contest. */
export const SIDE_FLAG = '--side'

/**
 * A side in a process of its own, undisturbed by the garbage, machine code and async hooks of the others. It does a
 * pass when told, and sleeps otherwise.
 */
export class ForkedSide implements Side {
  readonly #child: ChildProcess
  readonly #what: string

  constructor(contest: Contest, sideName: string, count: number) {
    const [, main = ''] = process.argv
    this.#what = `side "${sideName}" of contest "${contest.name}"`
    const args = [SIDE_FLAG, contest.name, sideName, String(count)]
    this.#child = fork(main, args)
  }

  pass(): Promise<Reading> {
    const { promise, resolve, reject } = pDefer<Reading>()
    const fail = (): void => reject(new Error(`Cannot measure ${this.#what}: its process has ended`))
    const patience = setTimeout(() => {
      reject(new Error(`Cannot measure ${this.#what}: a pass takes more than ${MOST_MS / 1_000} s`))
      this.#child.kill('SIGKILL')
    }, MOST_MS)
    // `serveSide` sends it from the other end.
    const answer = (message: unknown): void => resolve(message as Reading)
    this.#child.once('message', answer).once('exit', fail)
    this.#child.send('pass', (error) => {
      if (error !== null) fail()
    })
    return promise.finally(() => {
      clearTimeout(patience)
      this.#child.off('message', answer).off('exit', fail)
    })
  }

  async close(): Promise<void> {
    const { connected, exitCode, signalCode } = this.#child
    if (!connected || exitCode !== null || signalCode !== null) return
    const exit = once(this.#child, 'exit')
    this.#child.disconnect()
    await exit
  }
}

/** The main function of the process of a {@link ForkedSide}. It ends when its parent disconnects. */
export async function serveSide(
  contests: readonly Contest[],
  [contestName, sideName = '', count]: readonly string[],
): Promise<void> {
  const contest = contests.find(({ name }) => name === contestName)
  if (contest === undefined) throw new Error(`Cannot serve contest "${contestName ?? ''}": it does not exist`)
  const side = await BenchSide.open(contest, sideName, Number(count))
  process.on('message', () => {
    side.pass().then(
      (reading) => process.send?.(reading),
      (error: unknown) => {
        console.error(error)
        process.exit(1)
      },
    )
  })
  process.on('disconnect', () => process.exit())
}
