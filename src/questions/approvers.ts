import type { Person, Question } from '../api/question.ts'

/** Whether a person may answer: one of the approvers, by their id or by a role; any reader, if there are none. */
export function isApprover({ approvers }: Question, person: Person | undefined): boolean {
  if (approvers === undefined) return true
  return person !== undefined && [person.id, ...(person.roles ?? [])].some((name) => approvers.includes(name))
}
