import { task } from '@trigger.dev/sdk'

interface Sample {
  at: Date
  values: Map<string, number>
  raw: Uint8Array
  seen: Set<bigint>
}

export const reduce = task({
  id: 'reduce-sample',
  run: async ({ at, values, raw, seen }: Sample) => ({
    at,
    values: new Map([...values].filter(([, value]) => value > 0)),
    bytes: raw.byteLength,
    highest: [...seen].reduce((most, one) => (one > most ? one : most), 0n),
  }),
})

/** Values that are more than JSON, through a batch of children. */
export const reduceAll = task({
  id: 'reduce-samples',
  run: async (samples: Sample[]) => {
    const { runs } = await reduce.batchTriggerAndWait(samples.map((payload) => ({ payload })))
    const outputs = runs.flatMap((run) => (run.ok ? [run.output] : []))
    return {
      days: outputs.map(({ at }) => at.getUTCDate()),
      names: outputs.map(({ values }) => [...values.keys()]),
      highest: outputs.map(({ highest }) => highest),
    }
  },
})
