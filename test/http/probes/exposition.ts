/** A sample of a metric: the name with its labels, and the value. */
type Samples = Readonly<Record<string, number>>

const NAME = /^[a-z][a-z0-9_]*$/
const SAMPLE = /^([a-z][a-z0-9_]*)(?:\{(.*)\})? (\S+)$/
const LABELS = /^(?:[a-z][a-z0-9_]*="(?:[^"\\\n]|\\["\\n])*"(?:,(?!$)|$))*$/
/** What `promtool check metrics` finds wrong with a unit in a name. */
const WRONG_UNITS = /_(?:ms|milliseconds|minutes|hours|days|kilobytes|kb|mb|percent)(?:_|$)/
const TYPES = ['counter', 'gauge', 'histogram']

interface Family {
  readonly name: string
  type?: string
  readonly samples: string[]
}

/**
 * Reads text in format 0.0.4 of Prometheus, and answers its samples. Throws for what a scraper refuses, and for what
 * `promtool check metrics` finds wrong.
 */
export function readExposition(text: string): Samples {
  const samples: Record<string, number> = {}
  const families = new Map<string, Family>()
  let family: Family | undefined
  const refuse = (line: string, why: string): never => {
    throw new Error(`Cannot read "${line}": ${why}`)
  }
  const lines = text.split('\n')
  if (lines.pop() !== '') refuse(lines.at(-1) ?? '', 'the last line has no end')
  for (const line of lines) {
    const [mark, word, name = '', ...rest] = line.split(' ')
    if (mark === '#') {
      if (word === 'HELP') {
        if (!NAME.test(name)) refuse(line, 'the name')
        if (families.has(name)) refuse(line, 'the metric is there twice')
        if (rest.join('').trim() === '') refuse(line, 'the help is empty')
        family = { name, samples: [] }
        families.set(name, family)
      } else if (word === 'TYPE' && name === family?.name && family.type === undefined) {
        family.type = TYPES.find((type) => type === rest.join(' ')) ?? refuse(line, 'the type')
        if ((family.type === 'counter') !== name.endsWith('_total')) refuse(line, 'the suffix of a counter')
        if (/_(?:bucket|count|sum)$/.test(name)) refuse(line, 'the suffix of a histogram')
        if (WRONG_UNITS.test(name)) refuse(line, 'the unit')
        if (name.split('_').some((part) => TYPES.includes(part))) refuse(line, 'the type in the name')
      } else refuse(line, 'the comment')
      continue
    }
    const [, sample = '', labels = '', value = ''] = SAMPLE.exec(line) ?? refuse(line, 'no sample')
    const { name: of, type } = family ?? refuse(line, 'no metric')
    if (type === undefined) refuse(line, 'no type')
    const isBucket = sample === `${of}_bucket`
    const isOfFamily =
      type === 'histogram' ? isBucket || [`${of}_sum`, `${of}_count`].includes(sample) : sample === of
    if (!isOfFamily) refuse(line, `the sample is not of "${of}"`)
    if (!LABELS.test(labels)) refuse(line, 'the labels')
    if (isBucket !== /(?:^|,)le="[^"]*"$/.test(labels)) refuse(line, 'the boundary')
    const key = labels === '' ? sample : `${sample}{${labels}}`
    if (key in samples) refuse(line, 'the sample is there twice')
    const read = Number(value)
    if (Number.isNaN(read)) refuse(line, 'the value')
    samples[key] = read
    family?.samples.push(key)
  }
  for (const { name, type, samples: keys } of families.values()) {
    if (type === undefined) refuse(name, 'no type')
    if (type === 'histogram') checkHistogram(name, keys, samples)
  }
  return samples
}

/** Buckets go up, in boundaries and in counts, and the last one has them all. */
function checkHistogram(name: string, keys: readonly string[], samples: Samples): void {
  let before = { labels: '', boundary: Infinity, count: 0 }
  for (const key of keys) {
    const [, labels = '', le = ''] = /_bucket\{(.*?),?le="([^"]*)"\}$/.exec(key) ?? []
    if (le === '') continue
    const boundary = le === '+Inf' ? Infinity : Number(le)
    const count = samples[key] ?? 0
    const isFirst = labels !== before.labels || before.boundary === Infinity
    if (!isFirst && (boundary <= before.boundary || count < before.count))
      throw new Error(`Cannot read "${key}": it is not above the bucket before`)
    if (isFirst && before.boundary !== Infinity) throw new Error(`Cannot read "${key}": no +Inf before it`)
    if (boundary === Infinity) {
      const all = labels === '' ? '' : `{${labels}}`
      if (samples[`${name}_count${all}`] !== count || samples[`${name}_sum${all}`] === undefined)
        throw new Error(`Cannot read "${key}": its count or sum is not there`)
    }
    before = { labels, boundary, count }
  }
  if (before.boundary !== Infinity) throw new Error(`Cannot read "${name}": the last bucket is not +Inf`)
}
