/** A file of SQL is imported as its text: nothing is read at run time. */
declare module '*.sql' {
  const text: string
  export default text
}
