// Small builders for record schemas: every record is an open object whose fields may be absent or null, because whole
// records are documented as optional, and read-only fields too (docs/sources.md, 2).

import Type, { type TObject, type TOptional, type TProperties, type TSchema } from 'typebox'

type Optionals<Fields extends TProperties> = { [Name in keyof Fields]: TOptional<Fields[Name]> }

/** A record type: an open object, every field optional. */
export function record<Fields extends TProperties>(
  title: string,
  description: string,
  fields: Fields,
): TObject<Optionals<Fields>> {
  const optional = Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, Type.Optional(schema)]))
  return Type.Object(optional as Optionals<Fields>, { title, description })
}

const field =
  <Schema extends TSchema>(schema: Schema) =>
  (description: string) =>
    Type.Union([schema, Type.Null()], { description })

export const text = field(Type.String())
export const integer = field(Type.Integer())
/** Fractions allowed. */
export const number = field(Type.Number())
export const flag = field(Type.Boolean())

/** A string field of a named format, such as `date` or `email`; the format is documented, not enforced. */
export const formatted = (format: string, description: string) =>
  field(Type.Unsafe<string>({ type: 'string', format }))(description)

/** A string field with known values; others are possible upstream, so the record schema only documents them. */
export const choice = (values: readonly string[], description: string) => text(`${description}: ${values.join(', ')}`)

/** An object whose contents no source shows. */
export const opaque = (description: string) =>
  Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.String(), Type.Null()], { description })

/** An embedded record, or null. */
export const embedded = <Schema extends TSchema>(schema: Schema, description: string) => field(schema)(description)

/** A list of embedded records. */
export const list = <Schema extends TSchema>(schema: Schema, description: string) => Type.Array(schema, { description })
