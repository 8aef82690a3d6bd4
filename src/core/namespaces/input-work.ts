import type { KeyRecord, TokenRecord } from '../../contract/records.ts'
import type { TakeInputOptions } from '../../api/input.ts'
import type { WaitResult } from '../../api/token.ts'
import type { Values } from '../../api/values.ts'
import { type OptionNames, requireOptions, requireWhole } from '../../primitives/require.ts'
import type { GivenAnswer } from '../attempt/answer-order.ts'
import type { Attempt, Settlement } from '../attempt/attempt.ts'
import type { Kernel } from '../kernel.ts'
import type { DefinedInput, SentInput } from '../../api/input-calls.ts'
import { RunningListener } from './input-listener.ts'
import { type FoundInputs, inputReader, type InputWish } from './input-reader.ts'
import { inputSettlement, inputValue } from './input-records.ts'
import { InputSender } from './input-sender.ts'

export { unreadInputs } from './input-records.ts'

const TAKE_NAMES: OptionNames<TakeInputOptions> = { max: true }

/** The work of an input stream: what an engine loads with the first message. */
export class InputWork {
  readonly #kernel: Kernel
  readonly #input: DefinedInput
  readonly #values: Values

  constructor(kernel: Kernel, input: DefinedInput, values: Values) {
    this.#kernel = kernel
    this.#input = input
    this.#values = values
  }

  send(scope: Attempt | undefined, sent: SentInput): Promise<void> {
    return new InputSender(this.#kernel, this.#values, scope).send(this.#input, sent)
  }

  /** The token of the next message. */
  next(scope: Attempt, place: KeyRecord, wish: InputWish): Promise<string> {
    return inputReader(this.#kernel, scope, this.#input.id).next(place, wish)
  }

  settlement(record: TokenRecord, wish: InputWish): Promise<Settlement<WaitResult<unknown>, unknown>> {
    wish.stopListening?.()
    return inputSettlement(record, this.#input, { values: this.#values, signal: wish.signal })
  }

  take(scope: Attempt, place: KeyRecord, options: TakeInputOptions): Promise<readonly unknown[]> {
    requireOptions(options, 'the options of take', TAKE_NAMES)
    const { max = Number.MAX_SAFE_INTEGER } = options
    requireWhole(max, 'max', { from: 1 })
    return this.#read(scope, inputReader(this.#kernel, scope, this.#input.id).take(place, max))
  }

  async peek(scope: Attempt, place: KeyRecord): Promise<unknown> {
    const [next] = await this.#read(scope, inputReader(this.#kernel, scope, this.#input.id).peek(place))
    return next
  }

  listen(attempt: Attempt, handler: (data: unknown) => unknown): RunningListener {
    const read = (record: TokenRecord): Promise<unknown> => inputValue(record, this.#input, this.#values)
    const listener = new RunningListener(this.#kernel, { attempt, stream: this.#input.id, read, handler })
    void listener.listen()
    return listener
  }

  /** What a read finds is an answer like those to waits: the run goes on with one after the other. */
  async #read(scope: Attempt, found: Promise<FoundInputs>): Promise<readonly unknown[]> {
    const { inputs } = await scope.inTurn(found, foundAt)
    return Promise.all(inputs.map((record) => inputValue(record, this.#input, this.#values)))
  }
}

function foundAt({ by: { id, createdAt } }: FoundInputs, since: number): GivenAnswer {
  return { at: createdAt, id, since }
}
