// Compares how tasks have ended.

/**
 * How the tasks of a file have ended: `same` as under the published executor, `other`, or `alone`: they ask the service there.
 * Where there is nothing to compare with, all are alone.
 */
export function verdictOf(file, our, their) {
  const theirs = new Map(their?.tasks.map(({ id, end }) => [id, end]))
  const runs = our.tasks.filter((task) => task.file === file)
  return runs.map(({ id, end }) => {
    if (their === undefined) return { id, kind: 'alone', end }
    const other = theirs.get(id) ?? { problem: 'is not known' }
    if (isSame(end, other)) return { id, kind: 'same', end }
    return other.hasAsked ? { id, kind: 'alone', end } : { id, kind: 'other', end, other }
  })
}

function isSame(end, other) {
  const [ours, theirs] = [told(end), told(other)]
  return (
    ours.attempts === theirs.attempts &&
    ours.text === theirs.text &&
    (theirs.name === undefined || ours.name === theirs.name)
  )
}

/**
 * A time, a duration or an id in a message is another one in each run, an error of a hook has its name in front, and a stub
 * that is thrown has no text.
 */
function told({ attempts, name, message, problem }) {
  const text = message
    ?.replace(/^\w*Error: /, '')
    .replace(/^(\[Function: any\]|"")$/, '')
    .replaceAll(/\d+/g, '0')
  return { attempts, name, text: problem ?? text }
}
