// How a task has ended: `attempts`, and `name` and `message` of an error; or the `problem` of the thread that ran it.

export const ENDLESS = 'does not come to an end'

export function firstLine(error) {
  const [line] = String(error?.message ?? error).split('\n')
  return line.slice(0, 160)
}
