# frozen_string_literal: true

# Comments and the answers to them.
class CommentThread
  include Enumerable

  Comment = Struct.new(:author, :text, :likes)

  attr_reader :comments

  def initialize(comments = [])
    @comments = comments
    @locked = false
  end

  def each(&block)
    return enum_for(:each) unless block

    @comments.each(&block)
    self
  end

  def add(author, text)
    raise "the thread is locked" if @locked
    return nil if text.to_s.strip.empty?

    Comment.new(author, text.strip, 0).tap { |comment| @comments << comment }
  end

  def lock!
    @locked = true
  end

  def most_liked(count = 3)
    @comments.sort_by { |comment| -comment.likes }.first(count)
  end

  def by(author)
    @comments.select { |comment| comment.author == author }
  end

  def summary
    case @comments.size
    when 0 then "no comments"
    when 1 then "1 comment"
    else "#{@comments.size} comments"
    end
  end
end
