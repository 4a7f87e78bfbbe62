# frozen_string_literal: true

# Loaded before anything else: from here on this process and what it starts can change files only below one folder.
# The kernel sees to it (Landlock), so that it holds for code that is being loaded, for absolute paths and for other programs.
module ProctorConfine
  CREATE = 444
  ADD = 445
  RESTRICT = 446
  PRCTL = RUBY_PLATFORM.start_with?("x86_64") ? 157 : 167
  NO_NEW_PRIVILEGES = 38
  PATH_ONLY = 0x200000
  WRITE = 1 << 1
  # Write, remove (2), make (7), and from the versions on that know them: move to another folder, truncate.
  CHANGES = [WRITE, *(4..12).map { |bit| 1 << bit }].sum
  LATER = { 2 => 1 << 13, 3 => 1 << 14 }.freeze

  @on = false

  class << self
    def on? = @on

    def apply(folder)
      version = number(CREATE, 0, 0, 1)
      handled = CHANGES + LATER.sum { |since, bit| version >= since ? bit : 0 }
      rules = [handled].pack("Q")
      set = number(CREATE, rules, rules.bytesize, 0)
      allow(set, folder, handled)
      allow(set, File::NULL, handled & (WRITE | (1 << 14)))
      number(PRCTL, NO_NEW_PRIVILEGES, 1, 0, 0, 0)
      number(RESTRICT, set, 0)
      IO.for_fd(set).close
      @on = true
    rescue SystemCallError, NotImplementedError
      @on = false
    end

    private

    # Structures go by their address: they hold zero bytes.
    def number(*words) = syscall(*words.map { |word| word.is_a?(String) ? [word].pack("P").unpack1("J") : word })

    def allow(set, path, access)
      File.open(path, File::RDONLY | PATH_ONLY) { |file| number(ADD, set, 1, [access, file.fileno].pack("Ql"), 0) }
    end
  end
end

if (folder = ENV.delete("PROCTOR_COVER_WRITABLE"))
  loud = $VERBOSE
  $VERBOSE = nil
  ProctorConfine.apply(folder)
  $VERBOSE = loud
end
