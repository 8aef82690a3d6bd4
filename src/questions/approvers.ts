import type { Person, Question } from '../api/question.ts'
import { type OptionNames, requireList, requireName, requireOptions } from '../primitives/require.ts'

const MOST_OF_NAME = 200
const MOST_ROLES = 50
/** What the names of roles begin with, so that no id passes for one. */
const ROLE = 'role:'
const NAMES: OptionNames<Person> = { id: true, name: true, roles: true }

/**
 * Checked where a person is named, also for a link or a page: an answer by them is then stored.
 *
 * @throws TypeError or RangeError for what is no person. Code without types may have made it.
 */
export function requirePerson(person: Person, what: string, names: OptionNames<Person> = NAMES): void {
  requireOptions(person, what, names)
  const { id, name = id, roles = [] } = person
  requireList(roles, `the roles of ${what}`)
  if (roles.length > MOST_ROLES || new Set(roles).size < roles.length)
    throw new RangeError(`Cannot use the roles of ${what}: there are 0 to ${MOST_ROLES}, all different`)
  for (const each of [id, name, ...roles]) {
    requireName(each, `a name of ${what}`)
    if (each.length > MOST_OF_NAME) throw new RangeError(`Cannot use ${what}: too long`)
  }
  if (id.startsWith(ROLE)) throw new RangeError(`Cannot use ${what}: its id is that of a role`)
}

/** Whether a person may answer: one of the approvers, by their id or by a role; any reader, if there are none. */
export function isApprover({ approvers }: Question, person: Person | undefined): boolean {
  if (approvers === undefined) return true
  return person !== undefined && [person.id, ...(person.roles ?? [])].some((name) => approvers.includes(name))
}
