import { task } from '@trigger.dev/sdk'

const made = {
  nothing: () => undefined,
  none: () => null,
  zero: () => 0,
  text: () => '',
  date: () => new Date('2026-01-02T03:04:05.006Z'),
  list: () => [1, 'two', null, { three: 3 }],
  dates: () => ({ from: new Date(0), to: new Date(1), days: [new Date(2)] }),
  bigints: () => ({ wei: 10n ** 20n }),
  map: () => new Map<string, unknown>([['a', new Set([1, 2])]]),
  missing: () => ({ kept: 1, missing: undefined }),
  nan: () => ({ nan: NaN, infinite: -Infinity, minus: -0 }),
  url: () => new URL('https://example.org/a?b=c'),
  pattern: () => /a+b/gi,
  error: () => new Error('as an output'),
}

export const making = task({
  id: 'making',
  run: async ({ what }: { what: keyof typeof made }): Promise<unknown> => made[what](),
})

export const echo = task({ id: 'echo', run: async (payload: unknown) => payload })

export const synchronous = task({ id: 'quiet', run: async () => {} })
