import { CompleteTaskWithOutput, task } from '@trigger.dev/sdk/v3'

export const ends: string[] = []

function finish(value: unknown): never {
  throw new CompleteTaskWithOutput(value)
}

/** Ends from deep inside, with and without an output. */
export const search = task({
  id: 'search',
  run: async ({ list, wanted }: { list: number[]; wanted?: number }) => {
    list.forEach((item, index) => {
      if (item === wanted) finish({ index, at: new Date(index) })
    })
    if (wanted === undefined) finish(undefined)
    return { index: -1, at: null }
  },
  onSuccess: ({ output }) => {
    ends.push(`success ${typeof output}`)
  },
  onComplete: ({ result }) => {
    ends.push(`complete ${result.ok}`)
  },
})
