import type { KeyRecord } from '../../contract/records.ts'
import type { Awaitable } from '../../contract/storage.ts'
import type { InputListener, OnceInputOptions, TakeInputOptions, WaitInputOptions } from '../../api/input.ts'
import type { WaitPromise } from '../../api/token.ts'
import type { Values } from '../../api/values.ts'
import { chain } from '../../primitives/awaitable.ts'
import { type OptionNames, requireFunction, requireName } from '../../primitives/require.ts'
import type { Attempt } from '../attempt/attempt.ts'
import type { Kernel } from '../kernel.ts'
import { passPlace } from '../waits/key.ts'
import { beginWait, readTimeout } from './asked-wait.ts'
import type { DefinedInput, InputCalls, SentInput } from '../../api/input-calls.ts'
import type { InputWish } from './input-reader.ts'
import type { InputWork } from './input-work.ts'
import { INPUTS } from './late-calls.ts'
import { readTags } from './new-run.ts'

const WAIT_NAMES: OptionNames<WaitInputOptions> = {
  timeout: true,
  idempotencyKey: true,
  tags: true,
  signal: true,
}

/** Messages into the runs of one engine. What reads and sends them is loaded when it is first used. */
export class EngineInputs implements InputCalls {
  readonly #kernel: Kernel
  readonly #values: Values

  constructor(kernel: Kernel, values: Values) {
    this.#kernel = kernel
    this.#values = values
  }

  send(input: DefinedInput, sent: SentInput): Promise<void> {
    return this.#kernel.call((scope) => this.#work(input, (work) => work.send(scope, sent)))
  }

  wait(
    input: DefinedInput,
    options: WaitInputOptions,
    begun?: (attempt: Attempt) => void,
  ): WaitPromise<unknown> {
    const wish: InputWish = { signal: options.signal }
    return beginWait(
      this.#kernel,
      {
        what: 'streams.input().wait',
        options,
        names: WAIT_NAMES,
        read: (record) => this.#work(input, (work) => work.settlement(record, wish)),
      },
      (scope) => {
        const { timeout, idempotencyKey: name, tags } = options
        if (timeout !== undefined) Object.assign(wish, readTimeout(timeout, this.#kernel.host.now()))
        if (tags !== undefined) Object.assign(wish, { tags: readTags(tags) })
        const place = this.#place(scope, [input.id, 'wait'], name)
        begun?.(scope)
        // An attempt that is executed again hands over no other answer meanwhile.
        return scope.asked(this.#work(input, (work) => work.next(scope, place, wish)))
      },
    )
  }

  once(input: DefinedInput, { timeoutMs, ...options }: OnceInputOptions): WaitPromise<unknown> {
    let attempt: Attempt | undefined
    const waited = this.wait(
      input,
      timeoutMs === undefined ? options : { timeout: timeoutMs, ...options },
      (scope) => {
        attempt = scope
        scope.awake += 1
      },
    )
    const over = (): void => {
      if (attempt === undefined) return
      attempt.awake -= 1
      attempt.rested()
    }
    waited.then(over, over)
    return waited
  }

  take(input: DefinedInput, options: TakeInputOptions): Promise<readonly unknown[]> {
    return this.#kernel.call(() => {
      const scope = this.#kernel.requireRunning('streams.input().take')
      const place = this.#place(scope, [input.id, 'take'])
      return this.#work(input, (work) => work.take(scope, place, options))
    })
  }

  peek(input: DefinedInput): Promise<unknown> {
    return this.#kernel.call(() => {
      const scope = this.#kernel.requireRunning('streams.input().peek')
      const place = this.#place(scope, [input.id, 'peek'])
      return this.#work(input, (work) => work.peek(scope, place))
    })
  }

  on(input: DefinedInput, handler: ((data: unknown) => unknown) | undefined): InputListener {
    const attempt = this.#kernel.requireRunning('streams.input().on')
    if (handler === undefined) throw new TypeError('Cannot listen to streams.input: give a handler')
    requireFunction(handler, 'the handler of streams.input')
    const listening = this.#work(input, (work) => work.listen(attempt, handler))
    return { off: () => void chain(listening, (listener) => listener.off()) }
  }

  /** What reads and sends messages, once it is loaded. */
  #work<T>(input: DefinedInput, use: (work: InputWork) => Awaitable<T>): Awaitable<T> {
    return INPUTS.use(({ InputWork }) => use(new InputWork(this.#kernel, input, this.#values)))
  }

  #place(scope: Attempt, content: readonly string[], name?: string): KeyRecord {
    if (name === undefined) return this.#kernel.place(scope, { kind: 'input', content })
    requireName(name, 'idempotencyKey')
    passPlace('input')
    return this.#kernel.place(scope, { kind: 'input', by: 'key', name, content: undefined })
  }
}
