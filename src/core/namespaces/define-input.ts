import { type InputListener, type InputOptions, type InputStream, readInputOptions } from '../../api/input.ts'
import type { InputCalls } from '../../api/input-calls.ts'

/**
 * An input stream with a name.
 *
 * @throws TypeError for options that cannot be used.
 */
export function defineInput<Input>(calls: InputCalls, input: InputOptions<Input>): InputStream<Input> {
  readInputOptions(input)
  const untyped: Omit<InputStream<unknown>, 'on'> & { on(handler: never): InputListener } = {
    id: input.id,
    send: (run, data, options = {}) => calls.send(input, { run, data, options }),
    wait: (options = {}) => calls.wait(input, options),
    once: (options = {}) => calls.once(input, options),
    take: (options = {}) => calls.take(input, options),
    peek: () => calls.peek(input),
    on: (handler) => calls.on(input, handler),
  }
  // Messages are of the type that the definition names.
  return untyped as InputStream<Input>
}
