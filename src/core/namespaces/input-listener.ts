import type { TokenRecord } from '../../contract/records.ts'
import { asError } from '../../primitives/as-error.ts'
import { type Attempt, inPlace, placeOfBranch } from '../attempt/attempt.ts'
import type { Kernel } from '../kernel.ts'
import { branchContent } from '../waits/key.ts'
import { UnawaitedWaiter } from '../waits/listener.ts'
import { type InputReader, inputReader } from './input-reader.ts'
import { isMessage } from './input-records.ts'

/** What a listener does with a message. */
export interface Listening {
  readonly attempt: Attempt
  readonly stream: string
  readonly read: (record: TokenRecord) => Promise<unknown>
  readonly handler: (data: unknown) => unknown
}

/** Calls a handler with each message of a stream, one after the other. */
export class RunningListener {
  readonly #kernel: Kernel
  readonly #attempt: Attempt
  readonly #listening: Listening
  readonly #reader: InputReader
  #isOff = false
  /** The token that it waits for. */
  #waitsFor: string | undefined

  constructor(kernel: Kernel, listening: Listening) {
    this.#kernel = kernel
    this.#attempt = listening.attempt
    this.#listening = listening
    this.#reader = inputReader(kernel, listening.attempt, listening.stream)
  }

  off(): void {
    if (this.#isOff) return
    this.#isOff = true
    // A message that has come is handled first.
    if (this.#waitsFor !== undefined) this.#reader.pass(this.#waitsFor).catch(() => undefined)
  }

  async listen(): Promise<void> {
    try {
      while (!this.#isOff && !this.#attempt.isEnded) await this.#next()
    } catch (error) {
      if (!this.#attempt.isEnded) this.#kernel.events.error(asError(error), this.#attempt.id)
    }
  }

  async #next(): Promise<void> {
    const reader = this.#reader
    const { n, record } = await reader.listen()
    if (this.#isOff) {
      reader.leave(n)
      return
    }
    const settled = record.status === 'WAITING' ? await this.#settled(record.id) : record
    if (!isMessage(settled)) return
    const { stream, read, handler } = this.#listening
    const branch = placeOfBranch(this.#attempt, branchContent(`input ${String(n)} ${stream}`))
    try {
      await this.#kernel.effects.track(branch, async () => {
        const data = await read(settled)
        await inPlace(branch, () => handler(data))
        await reader.handled(n)
      })
    } catch (error) {
      reader.leave(n)
      throw error
    }
  }

  async #settled(id: string): Promise<TokenRecord> {
    this.#waitsFor = id
    try {
      const waiter = new UnawaitedWaiter<TokenRecord, TokenRecord>(this.#attempt, (record) => ({
        result: record,
        output: record,
      }))
      return await this.#kernel.waitpoints.wait(waiter, () => id)
    } finally {
      this.#waitsFor = undefined
    }
  }
}
