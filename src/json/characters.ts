// The characters that structure JSON: one code each, in UTF-8 and in UTF-16.

export const quote = 0x22
export const comma = 0x2c
export const minus = 0x2d
export const colon = 0x3a
export const openArray = 0x5b
export const backslash = 0x5c
export const closeArray = 0x5d
export const openObject = 0x7b
export const closeObject = 0x7d
