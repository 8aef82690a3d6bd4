import { logger, metadata, task } from '@trigger.dev/sdk/v3'

async function* numbers(upTo: number): AsyncGenerator<number> {
  for (let number = 1; number <= upTo; number += 1) yield number
}

async function* squares(source: AsyncIterable<number>): AsyncGenerator<number> {
  for await (const number of source) yield number * number
}

/** Reads, changes and writes, and counts what has passed. */
export const pipeline = task({
  id: 'pipeline',
  queue: { name: 'pipelines' },
  run: async ({ upTo }: { upTo: number }) => {
    let sum = 0
    for await (const square of squares(numbers(upTo))) {
      metadata.increment('passed').append('squares', square)
      sum += square
    }
    metadata.decrement('passed', 1).remove('squares', 1)
    logger.log('Passed', { sum })
    return { sum, ...metadata.current() }
  },
})
