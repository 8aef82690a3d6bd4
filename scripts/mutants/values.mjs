// Changes of values: what a database may do to a text, a number or a list without a word.
const JSON_FIELD = /Json$|^text$/
const INSTANT_FIELD = /(At|Until|Ms|last)$/
/** Ids are made by engines: 26 digits behind a prefix. */
const MADE_IDS = ['id', 'runId']
const COUNTS = ['attempt', 'policyAttempt', 'interruptions', 'epoch']

/** For each kind of field its changes, by what has become of the value. */
const CHANGES = {
  text: {
    cut: (text) => text.slice(0, 120),
    trimmed: (text) => text.trim(),
    'in lower case': (text) => text.toLowerCase(),
    composed: (text) => text.normalize(),
    'well-formed': (text) => text.toWellFormed(),
    'cut at a NUL': (text) => text.split('\0')[0],
    'in lines': (text) => text.replaceAll(/\r\n|\u2028|\u2029/g, '\n'),
  },
  json: {
    'cut far behind': (text) => text.slice(0, 65_535),
    're-encoded': (text) => JSON.stringify(JSON.parse(text)),
    'with sorted keys': (text) =>
      JSON.stringify(JSON.parse(text), (_name, part) =>
        part?.constructor === Object ? Object.fromEntries(Object.entries(part).sort()) : part,
      ),
    null: (text) => (text === 'null' ? undefined : text),
  },
  id: { 'cut by one': (text) => text.slice(0, -1) },
  count: { 'as a short float': Math.fround },
  instant: {
    'to the second': (number) => Math.floor(number / 1_000) * 1_000,
    'of 32 bits': (number) => Math.max(-(2 ** 31), Math.min(number, 2 ** 31 - 1)),
  },
  list: { reversed: (list) => [...list].reverse() },
  names: {
    sorted: (list) => [...list].sort(),
    reversed: (list) => [...list].reverse(),
    'each once': (list) => [...new Set(list)],
  },
}
/** Changes between a value and none, for fields that may be absent. */
const ABSENCES = {
  text: {
    'absent if empty': (text) => (text === '' ? undefined : text),
    'empty if absent': (text) => text ?? '',
    'null if absent': (text) => text ?? null,
  },
  instant: {
    'absent if zero': (number) => (number === 0 ? undefined : number),
    'zero if absent': (number) => number ?? 0,
    'null if absent': (number) => number ?? null,
  },
}

const ALL_CHANGES = Object.assign({}, ...Object.values(CHANGES))
const ALL_ABSENCES = Object.assign({}, ...Object.values(ABSENCES))

/** The names of the changes of a field. Where it is only read, one shows whether the value matters. */
export function changesOf({ path, kind, isOptional }, method) {
  const name = path.findLast((part) => part !== '[]')
  const isJson = JSON_FIELD.test(name)
  const isMade = kind === 'text' && path.length === 1 && MADE_IDS.includes(name)
  const kinds = isMade
    ? ['id']
    : kind === 'number'
      ? numberOf(name, path)
      : kind === 'text' && isJson
        ? ['json', 'text']
        : [kind]
  const all = kinds.flatMap((one) => [
    ...Object.keys(CHANGES[one] ?? {}),
    ...(isOptional && !isJson ? Object.keys(ABSENCES[one] ?? {}) : []),
  ])
  return method === 'put' ? all : all.slice(0, 1)
}

/** Numbers of attempts and of chunks in a stream stay small in every law. */
function numberOf(name, path) {
  if (INSTANT_FIELD.test(name)) return ['instant']
  return path.length === 1 && COUNTS.includes(name) ? ['count'] : []
}

/** A table which does this to the field at a path: `'put'` as it is stored, or as `'get'` or `'where'` answers it. */
export function changed(table, method, { path, name }) {
  const isAbsence = ALL_ABSENCES[name] !== undefined
  const change = ALL_ABSENCES[name] ?? ALL_CHANGES[name]
  const of = (value, [field, ...rest]) => {
    if (field === undefined) return value === undefined && !isAbsence ? value : change(value)
    if (value === undefined) return value
    if (field === '[]') return value.map((item) => of(item, rest))
    return { ...value, [field]: of(value[field], rest) }
  }
  const original = table[method].bind(table)
  const methods = {
    put: (id, row) => (original(id, of(row, path)), row),
    get: (id) => of(original(id), path),
    where: (matches) =>
      original(() => true)
        .map((row) => of(row, path))
        .filter(matches),
  }
  table[method] = methods[method]
  return table
}
