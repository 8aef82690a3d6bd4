import type { Person, Question } from '../api/question.ts'
import { requireList, requireName, requireOptions } from '../primitives/require.ts'

/** @throws TypeError for what is no person. Code without types may have made it. */
export function requirePerson(person: Person, what: string): void {
  requireOptions(person, what, { id: true, name: true, roles: true })
  const { id, name, roles = [] } = person
  requireName(id, `the id of ${what}`)
  if (name !== undefined) requireName(name, `the name of ${what}`)
  requireList(roles, `the roles of ${what}`)
  for (const role of roles) requireName(role, `a role of ${what}`)
}

/** Whether a person may answer: one of the approvers, by their id or by a role; any reader, if there are none. */
export function isApprover({ approvers }: Question, person: Person | undefined): boolean {
  if (approvers === undefined) return true
  return person !== undefined && [person.id, ...(person.roles ?? [])].some((name) => approvers.includes(name))
}
