/** The number of an input in its stream. */
export interface InputPlace {
  readonly stream: string
  readonly n: number
}

/**
 * The key of the n-th input of a stream, of its run's own scope. The token under it is `WAITING` while the run waits for the input, and
 * `COMPLETED` once it was sent. A number that a wait has timed out at, or was dropped at, is passed over by senders and by other readers.
 */
export function inputKey({ stream, n }: InputPlace): string {
  return `${INPUT}${n}/${stream}`
}

/** The input of a key that {@link inputKey} has made. */
export function readInputKey(value = ''): InputPlace | undefined {
  if (!value.startsWith(INPUT)) return undefined
  const end = value.indexOf('/', INPUT.length)
  return { n: Number(value.slice(INPUT.length, end)), stream: value.slice(end + 1) }
}

/** The key of the record that a listener of this attempt of the policy has handled an input. */
export function handledKey(policyAttempt: number, { stream, n }: InputPlace): string {
  return `handled/${policyAttempt}.${n}/${stream}`
}

/** `outputJson` of the record of a read: the numbers that it was given. */
export interface InputRead {
  readonly stream: string
  readonly taken: readonly number[]
  /** The number that `peek` has seen. */
  readonly seen?: number | undefined
}

/** The attempt of the policy that such a key, or that of a place, is of. */
export function readerAttempt(value = ''): number {
  const [first = '', second = ''] = value.split('/', 2)
  return Number.parseInt(first === 'handled' ? second : first, 10)
}

/** The key of the record that a message with this key of its sender's was accepted. */
export function sentKey(stream: string, key: string): string {
  return `sent/${stream.length}/${stream}/${key}`
}

const INPUT = 'input/'
