// What is printed of the verdicts.
import { firstLine } from './ends.mjs'

const COLUMNS = ['names', 'types', 'load', 'run']

/** Verdicts that need no explanation: `none` is for a file that has no task. */
const FINE = /^(ok|alone|none)$/

/** Why a verdict may be other than ok: the first that fits. */
const REASONS = [
  [/there is no option/, 'the published types refuse the option too; there it is ignored'],
  [
    /maxDuration of .*does not come/,
    'a loop asks a stub until `maxDuration`, which the executor leaves to its process',
  ],
  [/does not know it/, 'a task that is triggered by its id is in a file that was not collected'],
  [/\[Function\]|NaN|is not JSON|given an empty text/, 'a stub where a text or a number is needed'],
  [/Cannot unwrap/, 'a task that it waits for has failed because of a stub'],
  [/does not come to an end/, 'a loop waits for an answer that a stub never gives'],
  [
    /property 'ctx' of 'undefined'/,
    'its hooks are those of an older version, which were given two arguments; there the executor itself throws',
  ],
  [
    /there: DataCloneError/,
    'it sets a stub in its metadata, which the executor cannot clone; here metadata is what JSON leaves of it',
  ],
  [/\bError: (\[Function: any\])?(;|$)/, 'a stub stands for the error of a call, which the task throws'],
  [/not iterable|of undefined|is not a function/, 'a stub has no parts'],
]

/** For a terminal: one table, and the totals. */
export function table(rows) {
  const judged = rows.filter(({ others }) => others === undefined)
  const cells = judged.map((row) => [row.file, ...COLUMNS.map((column) => cellsOf(row)[column])])
  return [...tableOf(['file', ...COLUMNS], cells), ...otherVersions(rows), totalLine(judged)]
}

/** A page for docs. The folder of each application is named `OWNER__REPOSITORY@COMMIT`. */
export function page(rows, { sdk, node, day }) {
  const judged = rows.filter(({ others }) => others === undefined)
  const notes = []
  const lines = judged.map((row) => {
    const [, repository, commit] = /^(.+)@([^@]+)$/.exec(row.app) ?? ['', row.app, '']
    const name = repository.replace('__', '/')
    const cells = Object.entries(cellsOf(row)).map(([column, cell]) => {
      if (FINE.test(cell)) return cell
      const reason = REASONS.find(([pattern]) => pattern.test(cell))?.[1] ?? 'a stub answers nothing'
      notes.push(`- ${notes.length + 1}: \`${name}\` \`${row.file}\` (${column}): ${reason}. ${code(cell)}`)
      return `note ${notes.length}`
    })
    return [name, commit.slice(0, 7), row.file, ...cells]
  })
  return [
    '# Judged task files',
    '',
    `Public task files of ${new Set(rows.map(({ app }) => app)).size} repositories, as [the SDK](../../docs/hosted-task-files.md) of this package`,
    'executes them. Nothing of them is in this repository. Of each repository five task files were taken, in the order of hashes of their paths,',
    'and what these import by relative paths. They were judged on',
    `${day}, with @trigger.dev/sdk ${sdk} and Node ${node}, by \`node scripts/judge.mjs --markdown FOLDER...\`.`,
    '',
    '- **names**: every name that the file imports is exported.',
    '- **types**: the file has no type error that it has not with the published types too.',
    '- **load**: the file can be imported.',
    '- **run**: a run of each of its tasks ends as under `TaskExecutor` of `@trigger.dev/core`: with the same number of attempts, and completed',
    '  or with the same name and message of the error. `alone`: a task asks the service there, so that there is no end to compare, and',
    '  completes here. `none`: the file defines no task.',
    '',
    'Every other package, `fetch` and the variables of the environment are stubs, which answer and take anything, and are empty. A payload is',
    'a stub too, so that a run gets far, but not through every branch of its task.',
    '',
    ...totals(judged),
    ...otherVersions(rows),
    '',
    '## Not ok',
    '',
    ...notes,
    '',
    '## All',
    '',
    ...tableOf(['Repository', 'Commit', 'File', ...COLUMNS], lines),
  ]
}

function totals(judged) {
  const runs = judged.flatMap((row) => row.runs)
  const compared = runs.filter(({ kind }) => kind !== 'alone')
  const same = runs.filter(({ kind }) => kind === 'same')
  const share = (count, all) => `${count} of ${all} (${((100 * count) / all).toFixed(1)} %)`
  const countOk = (isOk) => share(judged.filter((row) => isOk(cellsOf(row))).length, judged.length)
  return tableOf(
    ['', 'Ok'],
    [
      ['Files whose names are all exported', countOk(({ names }) => names === 'ok')],
      ['Files that compile', countOk(({ types }) => types === 'ok')],
      ['Files that load', countOk(({ load }) => load === 'ok')],
      ['Tasks that end as under the published executor', share(same.length, compared.length)],
      ['Tasks that ask the service there, and complete here', share(...completedAlone(runs))],
    ],
  )
}

function completedAlone(runs) {
  const alone = runs.filter(({ kind }) => kind === 'alone')
  return [alone.filter(({ end }) => !isFailed(end)).length, alone.length]
}

function cellsOf({ names, types, load, runs }) {
  const others = runs.filter(({ kind, end }) => kind === 'other' || (kind === 'alone' && isFailed(end)))
  const run = runs.length === 0 ? 'none' : runs.every(({ kind }) => kind === 'same') ? 'ok' : 'alone'
  return {
    names: names.join(', ') || 'ok',
    types: types[0] === undefined ? 'ok' : `${types.length}: ${types[0].text}`,
    load,
    run:
      others.length === 0
        ? run
        : `${runs.length - others.length} of ${runs.length}: ${others.map(runText).join('; ')}`,
  }
}

const isFailed = ({ message, problem }) => (message ?? problem) !== undefined

function runText({ id, end, other }) {
  const here = `${id}: ${endText(end)}`
  return other === undefined ? here : `${here}, there: ${endText(other)}`
}

function endText({ attempts, name, message, problem }) {
  if (problem !== undefined) return problem
  const end = message === undefined ? 'completed' : `${name ?? 'Error'}: ${firstLine(message)}`
  return attempts === 1 ? end : `${end} (${attempts} attempts)`
}

const code = (text) => `\`${text.replaceAll('`', "'")}\``

function tableOf(head, lines) {
  return [head, head.map(() => '---'), ...lines].map(
    (cells) => `| ${cells.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`,
  )
}

function otherVersions(rows) {
  return rows
    .filter(({ others }) => others !== undefined)
    .map(({ file, others }) => `${file} is for another version: ${others.join(', ')}`)
}

function totalLine(judged) {
  const sums = COLUMNS.map((column) => {
    const count = judged.filter((row) => FINE.test(cellsOf(row)[column])).length
    return `${column} ${count}`
  })
  return `Of ${judged.length} files are ok: ${sums.join(', ')}`
}
