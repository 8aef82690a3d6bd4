/** What an adapter tells of a run with the options of its trigger, and what it is told of it. */
export interface TriggerMarks {
  /** The batch that the run belongs to, by one object for all its runs. If it has no id yet, the first of them gives it one. */
  readonly batch?: BatchMark
  /** Called with the id of the run that is waited for, once it is stored. */
  readonly stored?: (runId: string) => void
  /** `trigger` answers a handle with the id of the task, and without the result. */
  readonly named?: true
}

/** A batch of runs. */
export interface BatchMark {
  id?: string
}

const MARKS: unique symbol = Symbol('trigger marks')

/** The options of a trigger, with marks on them. */
export function withMarks<Options extends object>(options: Options, marks: TriggerMarks): Options {
  return { ...options, [MARKS]: marks }
}

/** The marks on the options of a trigger. */
export function marksOf(options: object): TriggerMarks | undefined {
  // Only `withMarks` writes them.
  return (options as { readonly [MARKS]?: TriggerMarks })[MARKS]
}
