import type { Planted } from './planted.ts'
import { reporting } from './status-overtaken.ts'

/** The twin without the bug: a report waits for the one before it. */
export const statusOvertaken: Planted = {
  body: reporting((report) => {
    const lines = new WeakMap<object, Promise<void>>()
    return (t, shown, status) => {
      const line = (lines.get(shown) ?? Promise.resolve()).then(() => report(t, shown, status))
      lines.set(shown, line)
      return line
    }
  }),
  options: {},
  breaks: 'the body holds',
}
