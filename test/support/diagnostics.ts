import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { DiagnosticMessages } from 'waitpoint'

/** Calls `listener` with the messages of one channel, until it is disposed of. */
export function listenTo<Name extends keyof DiagnosticMessages>(
  name: Name,
  listener: (message: DiagnosticMessages[Name]) => void,
): Disposable {
  // An engine publishes only these on the channel.
  const own = (message: unknown): void => listener(message as DiagnosticMessages[Name])
  subscribe(name, own)
  return { [Symbol.dispose]: () => void unsubscribe(name, own) }
}
