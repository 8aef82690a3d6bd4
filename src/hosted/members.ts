/** The type of a member in JSON; a date is ISO 8601 there. */
export type MemberType = 'text' | 'number' | 'date'

type TypeOf<Value> = Value extends string
  ? 'text'
  : Value extends number
    ? 'number'
    : Value extends Date
      ? 'date'
      : never

/** The members that only some objects of a shape have, each with its type. */
export type MembersOf<Shape> = {
  readonly [Name in keyof Shape as undefined extends Shape[Name] ? Name : never]-?: TypeOf<
    NonNullable<Shape[Name]>
  >
}
