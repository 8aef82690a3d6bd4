/** The engine that holds a run, as the storage knows it. See docs/operations.md. */
export interface RunOwner {
  /** Its name: the one on the console's page *Engines*. */
  readonly id: string
  /** Whether it is the engine that was asked. */
  readonly isHere: boolean
  /** The name of its machine, and the number of its process. Absent: not known, as of storage in memory. */
  readonly host?: string
  readonly pid?: number
  /** When it last renewed its lease. Absent: its lease has no end, because it is alone. */
  readonly heardAt?: Date
  /** When its lease ends: then another engine takes its runs over. */
  readonly leaseEndsAt?: Date
}

/** Where an engine runs, for people: `process 7 on web`. Empty where the storage does not know. */
export function enginePlace({
  host,
  pid,
}: {
  readonly host?: string | undefined
  readonly pid?: number | undefined
}): string {
  const process = pid === undefined ? '' : `process ${pid}`
  return [process, host ?? ''].filter((part) => part !== '').join(' on ')
}
